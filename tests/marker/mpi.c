/* SPDX-License-Identifier: Apache-2.0
 * An MPI program that knows nothing of marks: 100 times work, and then a collective. */
#include <mpi.h>

int main(int argc, char** argv) {
  volatile unsigned long value = 1;
  int sum = 0;
  int round;
  MPI_Init(&argc, &argv);
  for (round = 0; round < 100; ++round) {
    unsigned long step;
    for (step = 0; step < 300000; ++step) value = value * 3 + 1;
    if (round % 2 == 0)
      MPI_Barrier(MPI_COMM_WORLD);
    else
      MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
