"""A real Kubernetes cluster on one machine, without Docker, and bare control planes for integration tests.

The cluster's programs are built from Go modules and Debian packages, and run in namespaces of their own (processes,
mounts, network), as a node of a container would: ending the namespaces' first process ends the cluster, with every
process, mount, interface and iptables rule that it made. See docs/design/0001-local-cluster.md.
"""
