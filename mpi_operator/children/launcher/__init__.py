"""The launcher: a batch/v1 Job that runs mpirun, made from the Launcher's template."""
