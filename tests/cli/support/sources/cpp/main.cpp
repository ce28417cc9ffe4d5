// Lambdas of all kinds, exceptions through inlined frames, the standard library's templates.
#include "containers.hpp"
#include "shapes.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>

namespace {

int calls;

struct Guard {
    Guard() { ++calls; }
    ~Guard() { --calls; }
};

template <typename Function> auto guarded(Function function, int value)
{
    Guard guard;
    return function(value);
}

__attribute__((noinline)) int may_throw(int value)
{
    Guard guard;
    if (value % 7 == 0)
        throw std::runtime_error("seven");
    return value + 1;
}

int caught(int value)
{
    try {
        return guarded([](int inner) { return may_throw(inner) + may_throw(inner + 1); }, value);
    } catch (const std::runtime_error &error) {
        return static_cast<int>(error.what()[0]);
    }
}

std::function<int(int)> adder(int amount)
{
    return [amount](int value) { return value + amount; };
}

std::map<std::string, int> counted(const std::vector<std::string> &words)
{
    std::map<std::string, int> counts;
    for (const auto &word : words)
        ++counts[word];
    return counts;
}

} // namespace

namespace outer {
namespace inner {
static int hidden(int value)
{
    auto generic = [value](auto left, auto right) { return left * value + right; };
    return static_cast<int>(generic(2, 3) + generic(2.5, 3.5f));
}
int shown(int value) { return hidden(value) + hidden(value + 1); }
} // namespace inner
} // namespace outer

int main(int argc, char **argv)
{
    geometry::Shapes shapes;
    for (int index = 0; index < argc + 3; ++index) {
        if (index % 2)
            shapes.push_back(std::make_unique<geometry::Circle>(index));
        else
            shapes.push_back(std::make_unique<geometry::Square>(index));
    }
    shapes.push_back(std::make_unique<geometry::Square>(geometry::Square::unit()));
    std::sort(shapes.begin(), shapes.end(), [](const auto &left, const auto &right) {
        return left->area() < right->area() || (left->area() == right->area() && left->name() < right->name());
    });

    containers::Ring<int, 5> ring;
    containers::Ring<std::string, 3> words;
    for (int index = 0; index < argc; ++index) {
        ring.push(index);
        words.push(argv[index]);
    }
    std::vector<std::string> list;
    words.each([&](const std::string &word) { list.push_back(word + "!"); });

    double result = geometry_total(&shapes) + (*shapes.front())(2.0) + geometry::geometry_half(argc);
    result += ring.sum() + containers::largest(argc, 3, 7) + containers::Power<4>::of(argc);
    result += caught(argc) + adder(argc)(5) + outer::inner::shown(argc) + containers::identity(result);
    for (const auto &[word, count] : counted(list))
        result += count * static_cast<int>(word.size());
    std::printf("%f %d %d\n", result, geometry::Counted::alive, calls);
    return 0;
}
