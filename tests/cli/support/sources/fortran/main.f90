program example
  use tools
  implicit none
  integer :: numbers(16), index
  real :: reals(4)
  numbers = [(index * index, index = 1, 16)]
  reals = real(numbers(1:4)) / 2
  call describe("integers", total(numbers))
  call describe("reals", int(total(reals)))
  call describe("fibonacci", fibonacci(10))

contains

  recursive integer function fibonacci(count) result(value)
    integer, intent(in) :: count
    if (count < 2) then
      value = count
    else
      value = fibonacci(count - 1) + fibonacci(count - 2)
    end if
  end function fibonacci

end program example
