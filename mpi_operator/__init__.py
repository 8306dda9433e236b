"""An operator that runs MPI programs as MPIJob objects of kubeflow.org/v2beta1."""
