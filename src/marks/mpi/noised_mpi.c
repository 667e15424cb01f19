/* SPDX-License-Identifier: Apache-2.0
 * libnoised_mpi.so: marks what an MPI program does between its blocking collectives as the phase "compute", and is only
 * preloaded: mpirun -x LD_PRELOAD=.../libnoised_mpi.so ./application. It is linked to no MPI: the application's own is
 * called, by the names that MPI has for such tools. Of Fortran, it sees mpif.h and `use mpi`, not `use mpi_f08`. */
#include <mpi.h>
#include <noised/mark.h>

static __thread int inside; /* of calls: a library may make one out of others */
static __thread int computing;

static void leave(void) {
  if (inside++ == 0 && computing) noised_mark_end("compute");
}

static void resume(void) {
  if (--inside != 0) return;
  computing = 1;
  noised_mark_begin("compute");
}

#define AROUND(call)  \
  do {                \
    int result_;      \
    leave();          \
    result_ = (call); \
    resume();         \
    return result_;   \
  } while (0)

int MPI_Init(int* argc, char*** argv) { AROUND(PMPI_Init(argc, argv)); }
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  AROUND(PMPI_Init_thread(argc, argv, required, provided));
}
int MPI_Finalize(void) {
  leave();
  return PMPI_Finalize();
}

int MPI_Barrier(MPI_Comm comm) { AROUND(PMPI_Barrier(comm)); }
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  AROUND(PMPI_Bcast(buffer, count, type, root, comm));
}
int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  AROUND(PMPI_Reduce(from, to, count, type, op, root, comm));
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  AROUND(PMPI_Allreduce(from, to, count, type, op, comm));
}
int MPI_Scan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  AROUND(PMPI_Scan(from, to, count, type, op, comm));
}
int MPI_Exscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  AROUND(PMPI_Exscan(from, to, count, type, op, comm));
}
int MPI_Reduce_scatter(const void* from, void* to, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  AROUND(PMPI_Reduce_scatter(from, to, counts, type, op, comm));
}
int MPI_Reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  AROUND(PMPI_Reduce_scatter_block(from, to, count, type, op, comm));
}
int MPI_Gather(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type, int root,
               MPI_Comm comm) {
  AROUND(PMPI_Gather(from, count, type, to, to_count, to_type, root, comm));
}
int MPI_Gatherv(const void* from, int count, MPI_Datatype type, void* to, const int to_counts[], const int places[],
                MPI_Datatype to_type, int root, MPI_Comm comm) {
  AROUND(PMPI_Gatherv(from, count, type, to, to_counts, places, to_type, root, comm));
}
int MPI_Scatter(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type, int root,
                MPI_Comm comm) {
  AROUND(PMPI_Scatter(from, count, type, to, to_count, to_type, root, comm));
}
int MPI_Scatterv(const void* from, const int counts[], const int places[], MPI_Datatype type, void* to, int to_count,
                 MPI_Datatype to_type, int root, MPI_Comm comm) {
  AROUND(PMPI_Scatterv(from, counts, places, type, to, to_count, to_type, root, comm));
}
int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm) {
  AROUND(PMPI_Allgather(from, count, type, to, to_count, to_type, comm));
}
int MPI_Allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int to_counts[], const int places[],
                   MPI_Datatype to_type, MPI_Comm comm) {
  AROUND(PMPI_Allgatherv(from, count, type, to, to_counts, places, to_type, comm));
}
int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
                 MPI_Comm comm) {
  AROUND(PMPI_Alltoall(from, count, type, to, to_count, to_type, comm));
}
int MPI_Alltoallv(const void* from, const int counts[], const int places[], MPI_Datatype type, void* to,
                  const int to_counts[], const int to_places[], MPI_Datatype to_type, MPI_Comm comm) {
  AROUND(PMPI_Alltoallv(from, counts, places, type, to, to_counts, to_places, to_type, comm));
}

/* Fortran's call the library's own C functions by their other names. Every argument is an address. */
#define FORTRAN(name, parameters, arguments)            \
  void pmpi_##name##_ parameters __attribute__((weak)); \
  void mpi_##name##_ parameters;                        \
  void mpi_##name##_ parameters {                       \
    leave();                                            \
    pmpi_##name##_ arguments;                           \
    resume();                                           \
  }
#define P1 (void* a)
#define P2 (void* a, void* b)
#define P3 (void* a, void* b, void* c)
#define P6 (void* a, void* b, void* c, void* d, void* e, void* f)
#define P7 (void* a, void* b, void* c, void* d, void* e, void* f, void* g)
#define P8 (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h)
#define P9 (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i)
#define P10 (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j)
FORTRAN(init, P1, (a))
FORTRAN(init_thread, P3, (a, b, c))
FORTRAN(barrier, P2, (a, b))
FORTRAN(bcast, P6, (a, b, c, d, e, f))
FORTRAN(reduce, P8, (a, b, c, d, e, f, g, h))
FORTRAN(allreduce, P7, (a, b, c, d, e, f, g))
FORTRAN(scan, P7, (a, b, c, d, e, f, g))
FORTRAN(exscan, P7, (a, b, c, d, e, f, g))
FORTRAN(reduce_scatter, P7, (a, b, c, d, e, f, g))
FORTRAN(reduce_scatter_block, P7, (a, b, c, d, e, f, g))
FORTRAN(gather, P9, (a, b, c, d, e, f, g, h, i))
FORTRAN(gatherv, P10, (a, b, c, d, e, f, g, h, i, j))
FORTRAN(scatter, P9, (a, b, c, d, e, f, g, h, i))
FORTRAN(scatterv, P10, (a, b, c, d, e, f, g, h, i, j))
FORTRAN(allgather, P8, (a, b, c, d, e, f, g, h))
FORTRAN(allgatherv, P9, (a, b, c, d, e, f, g, h, i))
FORTRAN(alltoall, P8, (a, b, c, d, e, f, g, h))
FORTRAN(alltoallv, P10, (a, b, c, d, e, f, g, h, i, j))

void pmpi_finalize_(void* error) __attribute__((weak));
void mpi_finalize_(void* error);
void mpi_finalize_(void* error) {
  leave();
  pmpi_finalize_(error);
}
