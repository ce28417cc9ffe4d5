// Interfaces, closures, generics, goroutines and defer.
package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
)

type shape interface {
	area() float64
}

type square struct{ side float64 }
type circle struct{ radius float64 }

func (s square) area() float64  { return s.side * s.side }
func (c *circle) area() float64 { return 3.14159 * c.radius * c.radius }

func largest[T int | float64](values ...T) (result T) {
	for _, value := range values {
		if value > result {
			result = value
		}
	}
	return result
}

func guarded(work func() error) (err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("recovered: %v", recovered)
		}
	}()
	return work()
}

func rotate(value uint32, by int) uint32 {
	return value<<by | value>>(32-by)
}

//go:noinline
func checksum(text string) uint32 {
	sum := uint32(7)
	for _, letter := range text {
		sum = rotate(sum, 5) ^ uint32(letter)
	}
	return sum
}

func main() {
	shapes := []shape{square{2}, &circle{1.5}}
	sort.Slice(shapes, func(i, j int) bool { return shapes[i].area() < shapes[j].area() })
	results := make(chan uint32)
	for _, argument := range os.Args {
		go func() { results <- checksum(strings.ToUpper(argument)) }()
	}
	total := uint32(0)
	for range os.Args {
		total += <-results
	}
	err := guarded(func() error {
		if total == 0 {
			return errors.New("nothing")
		}
		return nil
	})
	fmt.Println(total, err, largest(1, 2, 3), largest(shapes[0].area(), shapes[1].area()))
}
