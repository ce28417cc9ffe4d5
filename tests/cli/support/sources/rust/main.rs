// Traits, closures, generics, iterators and a panic path.
use std::collections::BTreeMap;
use std::fmt::Display;

mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
        fn twice(&self) -> f64 {
            self.area() * 2.0
        }
    }

    pub struct Square(pub f64);
    pub struct Circle {
        pub radius: f64,
    }

    impl Area for Square {
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }

    impl Area for Circle {
        fn area(&self) -> f64 {
            std::f64::consts::PI * self.radius.powi(2)
        }
    }
}

use shapes::Area;

#[inline(never)]
fn longest<T: Display + Clone>(items: &[T]) -> String {
    items
        .iter()
        .map(|item| format!("<{item}>"))
        .max_by_key(|text| text.len())
        .unwrap_or_default()
}

#[inline(always)]
fn mixed(value: u32) -> u32 {
    value.rotate_left(5) ^ value.wrapping_mul(31)
}

#[inline(never)]
fn checksum(data: &[u8]) -> u32 {
    data.iter().fold(7, |sum, byte| mixed(sum + u32::from(*byte)))
}

fn main() {
    let shapes: Vec<Box<dyn Area>> = vec![Box::new(shapes::Square(2.0)), Box::new(shapes::Circle { radius: 1.5 })];
    let total: f64 = shapes.iter().map(|shape| shape.twice()).sum();
    let mut words = BTreeMap::new();
    for argument in std::env::args() {
        *words.entry(argument.len()).or_insert(0) += checksum(argument.as_bytes());
    }
    let numbers: Vec<i32> = (0..10).filter(|number| number % 3 != 0).collect();
    println!("{total} {words:?} {} {}", longest(&numbers), longest(&["a", "bc"]));
}
