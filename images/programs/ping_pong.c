/* Measures latency and bandwidth between rank 0 and the last rank: a message goes there and back, many times per size.
 *
 * Prints one line per message size. With one rank there is nobody to play with: exit status 2. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST_BYTES = 4 << 20, BYTES_PER_SIZE = 64 << 20, MOST_ROUNDS = 2000, FEWEST_ROUNDS = 20, WARM_UP_ROUNDS = 10 };

static int rounds_of(int bytes) {
  int rounds = BYTES_PER_SIZE / (bytes + 1);
  return rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds < FEWEST_ROUNDS ? FEWEST_ROUNDS : rounds;
}

static void play(char *buffer, int bytes, int rounds, int is_first, int partner) {
  for (int round = 0; round < rounds; round++) {
    if (is_first) MPI_Send(buffer, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!is_first) MPI_Send(buffer, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
  }
}

static void measure(char *buffer, int bytes, int is_first, int partner) {
  int rounds = rounds_of(bytes);
  play(buffer, bytes, WARM_UP_ROUNDS, is_first, partner);
  double start_seconds = MPI_Wtime();
  play(buffer, bytes, rounds, is_first, partner);
  double one_way_seconds = (MPI_Wtime() - start_seconds) / (2.0 * rounds);
  if (is_first) printf("%10d %10d %14.2f %14.2f\n", bytes, rounds, one_way_seconds * 1e6, bytes / one_way_seconds / 1e6);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    fprintf(stderr, "ping_pong: needs at least 2 ranks, found 1; start it with mpirun -n 2\n");
    MPI_Finalize();
    return 2;
  }

  int last = ranks - 1;
  char *buffer = calloc(LARGEST_BYTES, 1);
  if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) printf("%10s %10s %14s %14s\n", "bytes", "rounds", "latency_us", "MB_per_s");
  if (rank == 0 || rank == last) {
    measure(buffer, 0, rank == 0, rank == 0 ? last : 0);
    for (int bytes = 1; bytes <= LARGEST_BYTES; bytes *= 4) measure(buffer, bytes, rank == 0, rank == 0 ? last : 0);
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
