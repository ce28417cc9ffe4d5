! A module with a generic interface and an internal procedure.
module tools
  implicit none
  private
  public :: describe, total

  interface total
    module procedure total_integer, total_real
  end interface

contains

  pure function total_integer(values) result(sum_of_all)
    integer, intent(in) :: values(:)
    integer :: sum_of_all, index
    sum_of_all = 0
    do index = 1, size(values)
      sum_of_all = sum_of_all + weighted(values(index))
    end do
  contains
    pure integer function weighted(value)
      integer, intent(in) :: value
      weighted = value * 3 + mod(value, 5)
    end function weighted
  end function total_integer

  pure real function total_real(values)
    real, intent(in) :: values(:)
    total_real = sum(values * values)
  end function total_real

  subroutine describe(label, number)
    character(len=*), intent(in) :: label
    integer, intent(in) :: number
    print '(a, 1x, i0)', label, number
  end subroutine describe

end module tools
