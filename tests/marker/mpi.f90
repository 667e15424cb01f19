! SPDX-License-Identifier: Apache-2.0
! The same in Fortran.
program marker
  use mpi
  implicit none
  integer :: error, round, step
  double precision :: value
  value = 1
  call MPI_Init(error)
  do round = 1, 100
    do step = 1, 300000
      value = value * 0.99d0 + 1
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  if (value < 0) print *, value
  call MPI_Finalize(error)
end program
