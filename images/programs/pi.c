/* Estimates pi by throwing random points at a square, shared out among the ranks.
 *
 * Usage: pi [--samples N] [--seed N]
 *   --samples N  points per rank (default 10000000)
 *   --seed N     the same seed and number of ranks give the same answer (default 1)
 *
 * Prints "Workers: N", "Rank R on host H" for each rank in order, and "pi is approximately X". Exit status 0 on
 * success, 2 when the options make no sense.
 *
 * The generator is xoshiro256** (Blackman and Vigna, 2018). Rank R starts R jumps of 2^128 numbers into one sequence,
 * so that ranks never see the same numbers. */

#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  uint64_t word[4];
} Generator;

static uint64_t rotate_left(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }

static uint64_t next(Generator *generator) {
  uint64_t *word = generator->word;
  uint64_t result = rotate_left(word[1] * 5, 7) * 9;
  uint64_t shifted = word[1] << 17;
  word[2] ^= word[0];
  word[3] ^= word[1];
  word[1] ^= word[2];
  word[0] ^= word[3];
  word[2] ^= shifted;
  word[3] = rotate_left(word[3], 45);
  return result;
}

/* A number in [0, 1): the upper 53 bits fill a double's mantissa. */
static double next_fraction(Generator *generator) { return (double)(next(generator) >> 11) * 0x1.0p-53; }

/* Advances by 2^128 numbers; the polynomial is the one published with the generator. */
static void jump(Generator *generator) {
  static const uint64_t polynomial[4] = {0x180ec6d33cfd0aba, 0xd5a61266f0c9392c, 0xa9582618e03fc9aa,
                                         0x39abdc4529b1661c};
  Generator sum = {{0, 0, 0, 0}};
  for (int index = 0; index < 4; index++) {
    for (int bit = 0; bit < 64; bit++) {
      if (polynomial[index] >> bit & 1) {
        for (int word = 0; word < 4; word++) sum.word[word] ^= generator->word[word];
      }
      next(generator);
    }
  }
  *generator = sum;
}

/* splitmix64 spreads any seed, 0 too, over the 256 bits. */
static Generator seeded(uint64_t seed, int rank) {
  Generator generator;
  for (int index = 0; index < 4; index++) {
    uint64_t mixed = seed += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    generator.word[index] = mixed ^ (mixed >> 31);
  }
  for (int jumps = 0; jumps < rank; jumps++) jump(&generator);
  return generator;
}

static uint64_t count_inside_circle(Generator generator, uint64_t samples) {
  uint64_t inside = 0;
  for (uint64_t sample = 0; sample < samples; sample++) {
    double x = next_fraction(&generator);
    double y = next_fraction(&generator);
    if (x * x + y * y < 1) inside++;
  }
  return inside;
}

static int is_number(const char *text, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static int parse_options(int argc, char **argv, uint64_t *samples, uint64_t *seed) {
  static const struct option options[] = {
      {"samples", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "n:s:", options, NULL)) != -1;) {
    if (option == 'n' && is_number(optarg, samples) && *samples > 0) continue;
    if (option == 's' && is_number(optarg, seed)) continue;
    return 0;
  }
  return optind == argc;
}

static void print_hosts(int rank, int ranks) {
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length;
  MPI_Get_processor_name(host, &length);
  char *hosts = rank == 0 ? malloc((size_t)ranks * sizeof host) : NULL;
  if (rank == 0 && hosts == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("Workers: %d\n", ranks);
  for (int each = 0; each < ranks; each++) printf("Rank %d on host %s\n", each, hosts + (size_t)each * sizeof host);
  fflush(stdout);
  free(hosts);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  uint64_t samples = 10000000, seed = 1;
  opterr = rank == 0;
  if (!parse_options(argc, argv, &samples, &seed)) {
    if (rank == 0) fprintf(stderr, "usage: pi [--samples N] [--seed N], N a whole number, samples at least 1\n");
    MPI_Finalize();
    return 2;
  }

  print_hosts(rank, ranks);
  uint64_t inside = count_inside_circle(seeded(seed, rank), samples);
  uint64_t total = 0;
  MPI_Reduce(&inside, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("pi is approximately %.16lf\n", 4.0 * (double)total / ((double)samples * ranks));
  MPI_Finalize();
  return 0;
}
