// Measures the speed of the reference implementation of Lidia, the published Go module. Prints one JSON object.
//
//	reference [-archive FILE.lidia] [-elf FILE] [-lookups N] [-seed N] [-rounds N]
//
// Lookups: random addresses between the archive's first and last function, the same as in bench_lookup.c, by one goroutine,
// once with the archive in memory (reference_lookup_ns) and once with a file read at every step
// (reference_lookup_file_ns). reference_found counts the addresses that have an answer.
// Creation: makes an archive of the ELF file, from opening the ELF file to closing the archive (reference_create_s).
//
// Each figure is the best of several rounds, because other load on the machine can only make a round slower.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/grafana/pyroscope/lidia"
)

func main() {
	archive := flag.String("archive", "", "look up in this archive")
	elf := flag.String("elf", "", "make an archive of this ELF file")
	lookups := flag.Int("lookups", 500000, "number of addresses in a round")
	seed := flag.Uint64("seed", 1, "seed of the addresses")
	rounds := flag.Int("rounds", 5, "number of rounds")
	flag.Parse()

	figures := map[string]any{}
	var err error
	if flag.NArg() > 0 || *lookups < 1 || *rounds < 1 || *archive == "" && *elf == "" {
		err = errors.New("wrong usage; -help lists the options")
	}
	if err == nil && *archive != "" {
		err = measureLookups(*archive, *lookups, *rounds, *seed, figures)
	}
	if err == nil && *elf != "" {
		err = measureCreation(*elf, *rounds, figures)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(figures)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// The bytes of a file, in the form that the module reads.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func measureLookups(path string, lookups, rounds int, seed uint64, figures map[string]any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	addresses, err := randomAddresses(data, lookups, seed)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	for _, way := range []struct {
		figure string
		reader lidia.ReaderAtCloser
	}{
		{"reference_lookup_ns", inMemory{bytes.NewReader(data)}},
		{"reference_lookup_file_ns", file},
	} {
		table, err := lidia.OpenReader(way.reader, lidia.WithCRC())
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer table.Close()
		found := 0
		best, err := bestOf(rounds, func() (err error) {
			found, err = lookUpAll(table, addresses)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		figures[way.figure] = float64(best.Nanoseconds()) / float64(lookups)
		figures["reference_found"] = found
	}
	return nil
}

// Uniform between the start of the first function and the end of the last.
func randomAddresses(archive []byte, count int, state uint64) ([]uint64, error) {
	first, end, err := span(archive)
	if err != nil {
		return nil, err
	}
	addresses := make([]uint64, count)
	for i := range addresses {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		addresses[i] = first + (z^z>>31)%(end-first)
	}
	return addresses, nil
}

// The module does not give access to its rows, so this reads the tables.
func span(archive []byte) (first, end uint64, err error) {
	if len(archive) < 0x80 {
		return 0, 0, errors.New("too short to be an archive")
	}
	word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(archive[at:]) }
	number := func(at, size uint64) uint64 {
		if at > uint64(len(archive)) || size > uint64(len(archive))-at {
			err = errors.New("a table lies outside the file")
			return 0
		}
		if size == 4 {
			return uint64(binary.LittleEndian.Uint32(archive[at:]))
		}
		return word(at)
	}
	addressSize, count, addresses := word(0x08), word(0x10), word(0x18)
	fieldSize, rows := word(0x28), word(0x38)
	if count == 0 || addressSize != 4 && addressSize != 8 || fieldSize != 4 && fieldSize != 8 {
		return 0, 0, errors.New("no archive, or one without functions")
	}
	first = number(addresses, addressSize)
	end = number(addresses+(count-1)*addressSize, addressSize) + number(rows+(count-1)*8*fieldSize, fieldSize)
	if err == nil && end <= first {
		err = errors.New("the functions have no bytes")
	}
	return first, end, err
}

func lookUpAll(table *lidia.Table, addresses []uint64) (found int, err error) {
	var frames []lidia.SourceInfoFrame
	for _, address := range addresses {
		if frames, err = table.Lookup(frames, address); err != nil {
			return 0, err
		}
		if len(frames) > 0 {
			found++
		}
	}
	return found, nil
}

func measureCreation(elf string, rounds int, figures map[string]any) error {
	folder, err := os.MkdirTemp("", "sextant-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	output := filepath.Join(folder, "out.lidia")
	best, err := bestOf(rounds, func() error {
		return lidia.CreateLidia(elf, output, lidia.WithCRC(), lidia.WithFiles(), lidia.WithLines())
	})
	if err != nil {
		return fmt.Errorf("%s: %w", elf, err)
	}
	figures["reference_create_s"] = best.Seconds()
	return nil
}

func bestOf(rounds int, work func() error) (best time.Duration, err error) {
	for round := range rounds {
		start := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		if elapsed := time.Since(start); round == 0 || elapsed < best {
			best = elapsed
		}
	}
	return best, nil
}
