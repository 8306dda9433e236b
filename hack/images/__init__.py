"""The container images of the project, built from Debian packages and Python wheels without Docker or a registry.

`python -m hack.images build [names…]` builds what changed into the user's cache folder, one docker-archive an image;
`python -m hack.images load --address <containerd.sock>` builds and imports them into a containerd.
"""
