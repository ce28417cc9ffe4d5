// Templates: with values, with any number of types, with a specialisation, with members, and concepts by overloading.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace containers {

template <typename T, std::size_t N> class Ring {
public:
    void push(T value)
    {
        items_[(first_ + count_) % N] = std::move(value);
        if (count_ < N)
            ++count_;
        else
            first_ = (first_ + 1) % N;
    }

    template <typename Function> void each(Function &&function) const
    {
        for (std::size_t index = 0; index < count_; ++index)
            function(items_[(first_ + index) % N]);
    }

    template <typename U = T> auto sum() const -> std::enable_if_t<std::is_arithmetic_v<U>, U>
    {
        U result{};
        each([&result](const T &item) { result += item; });
        return result;
    }

private:
    T items_[N]{};
    std::size_t first_ = 0, count_ = 0;
};

template <typename First> First largest(First first)
{
    return first;
}

template <typename First, typename... Rest> First largest(First first, Rest... rest)
{
    First other = largest<First>(rest...);
    return other < first ? first : other;
}

template <int N> struct Power {
    static long of(long base) { return base * Power<N - 1>::of(base); }
};

template <> struct Power<0> {
    static long of(long) { return 1; }
};

template <typename T> T identity(T value) noexcept
{
    return value;
}

} // namespace containers
