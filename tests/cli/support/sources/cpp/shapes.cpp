// What shapes.hpp declares; a namespace without a name, a class inside a function.
#include "shapes.hpp"

#include <algorithm>
#include <stdexcept>

namespace geometry {

int Counted::alive = 0;

namespace {

constexpr double pi = 3.14159265358979;

double square(double value)
{
    return value * value;
}

class Adder {
public:
    void add(double value) { sum_ += check(value); }
    double sum() const { return sum_; }

private:
    static double check(double value)
    {
        if (value < 0)
            throw std::domain_error("negative area");
        return value;
    }
    double sum_ = 0;
};

} // namespace

Circle::Circle(double radius) : Shape("circle"), radius_(radius)
{
    if (radius < 0)
        throw std::invalid_argument("negative radius");
}

double Circle::area() const
{
    return pi * square(radius_);
}

const std::string &Rectangle::name() const
{
    static const std::string square_name = "square", other_name = "rectangle";
    return width_ == height_ ? square_name : other_name;
}

Square::~Square()
{
    width_ = height_ = 0;
}

double total(const Shapes &shapes)
{
    struct Visitor {
        Adder &adder;
        void operator()(const std::unique_ptr<Shape> &shape) const { visit(*shape); }
        void visit(const Shape &shape) const { adder.add(shape.area()); }
    };
    Adder adder;
    std::for_each(shapes.begin(), shapes.end(), Visitor{adder});
    return adder.sum();
}

extern "C" double geometry_total(const Shapes *shapes)
{
    try {
        return total(*shapes);
    } catch (const std::domain_error &) {
        return -1;
    } catch (...) {
        return geometry_half(-1);
    }
}

} // namespace geometry
