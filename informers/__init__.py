"""List/watch informers for Kubernetes objects, in the manner of client-go."""
