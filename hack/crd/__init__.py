"""Makes the CustomResourceDefinition of MPIJobs from the operator's types and the Pod schema of Kubernetes."""
