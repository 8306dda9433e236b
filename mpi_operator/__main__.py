"""`python -m mpi_operator`."""

import sys

from mpi_operator.process import main

sys.exit(main())
