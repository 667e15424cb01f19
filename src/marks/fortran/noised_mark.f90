! SPDX-License-Identifier: Apache-2.0
! Marks the phases of a Fortran program for noisectl watch --phases; compiled with noised_mark_fortran.c.
!
!     use noised_mark
!     type(noised_phase) :: solve
!     solve = noised_mark_phase("solve")
!     call noised_mark_begin(solve)
!     ...
!     call noised_mark_end(solve)
module noised_mark
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_ptr, c_ptr
  implicit none
  private
  public :: noised_phase, noised_mark_phase, noised_mark_begin, noised_mark_end

  type, bind(c) :: noised_phase
    private
    type(c_ptr) :: name = c_null_ptr
  end type

  interface
    function c_name(text, length) bind(c, name="noised_mark_fortran_name")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int), value :: length
      type(c_ptr) :: c_name
    end function
    subroutine c_begin(name) bind(c, name="noised_mark_fortran_begin")
      import :: c_ptr
      type(c_ptr), value :: name
    end subroutine
    subroutine c_end(name) bind(c, name="noised_mark_fortran_end")
      import :: c_ptr
      type(c_ptr), value :: name
    end subroutine
  end interface

contains

  ! The phase of this name, of which 31 bytes are kept.
  function noised_mark_phase(name) result(phase)
    character(*), intent(in) :: name
    type(noised_phase) :: phase
    phase%name = c_name(name, len(name, c_int))
  end function

  ! Here it begins in this thread.
  subroutine noised_mark_begin(phase)
    type(noised_phase), intent(in) :: phase
    call c_begin(phase%name)
  end subroutine

  ! Here the last one that this thread began ends.
  subroutine noised_mark_end(phase)
    type(noised_phase), intent(in) :: phase
    call c_end(phase%name)
  end subroutine
end module
