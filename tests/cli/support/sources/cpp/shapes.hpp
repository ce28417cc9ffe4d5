// Classes with virtual functions, two bases and a virtual one, constructors and destructors that get inlined.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace geometry {

struct Counted {
    static int alive;
    Counted() { ++alive; }
    Counted(const Counted &) { ++alive; }
    virtual ~Counted() { --alive; }
};

struct Named {
    explicit Named(std::string name) : name_(std::move(name)) {}
    virtual ~Named() = default;
    virtual const std::string &name() const { return name_; }

private:
    std::string name_;
};

class Shape : public virtual Counted, public Named {
public:
    explicit Shape(const char *name) : Named(name) {}
    virtual double area() const = 0;
    virtual double scaled(double by) const { return area() * by * by; }
    double operator()(double by) const { return scaled(by); }
};

class Circle final : public Shape {
public:
    explicit Circle(double radius);
    double area() const override;

private:
    double radius_;
};

class Rectangle : public Shape {
public:
    Rectangle(double width, double height) : Shape("rectangle"), width_(width), height_(height) {}
    double area() const override { return width_ * height_; }
    const std::string &name() const override;

protected:
    double width_, height_;
};

inline namespace current {
struct Square : Rectangle {
    explicit Square(double side) : Rectangle(side, side) {}
    ~Square() override;
    static Square unit() { return Square(1); }
};
} // namespace current

using Shapes = std::vector<std::unique_ptr<Shape>>;

double total(const Shapes &shapes);

extern "C" {
double geometry_total(const Shapes *shapes);
inline double geometry_half(double value)
{
    return value / 2;
}
}

} // namespace geometry
