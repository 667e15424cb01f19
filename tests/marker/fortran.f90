! SPDX-License-Identifier: Apache-2.0
! Marks 50 phases, by the Fortran module.
program marker
  use noised_mark
  implicit none
  type(noised_phase) :: solve
  integer :: round, step
  double precision :: value
  solve = noised_mark_phase("solve   ")
  value = 1
  do round = 1, 50
    call noised_mark_begin(solve)
    do step = 1, 100000
      value = value * 0.99d0 + 1
    end do
    call noised_mark_end(solve)
  end do
  if (value < 0) print *, value
end program
