// The reference implementation of Lidia, the published Go module, as a program that tests can put questions to.
//
//	reference create         writes archives: reads lines `ELF <tab> OUTPUT`, answers each with a line of JSON:
//	                         {"error":text or null,"go_table":bool,"text":bool}; the last two tell whether the ELF file
//	                         has a Go function table and a section .text
//	reference check FILE...  opens archives with checksums compared; a line of JSON each: null, or what is wrong
//	reference lookup FILE    reads hexadecimal addresses, answers each with the chain of frames, innermost first:
//	                         [[function,file],...]
package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/grafana/pyroscope/lidia"
)

func main() {
	output := bufio.NewWriterSize(os.Stdout, 1<<16)
	err := run(os.Args[1:], json.NewEncoder(output))
	if flushError := output.Flush(); err == nil {
		err = flushError
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(arguments []string, answers *json.Encoder) error {
	switch {
	case len(arguments) == 1 && arguments[0] == "create":
		return create(answers)
	case len(arguments) >= 2 && arguments[0] == "check":
		return check(arguments[1:], answers)
	case len(arguments) == 2 && arguments[0] == "lookup":
		return lookup(arguments[1], answers)
	}
	return errors.New("usage: reference create | check FILE... | lookup FILE")
}

type creation struct {
	Error   *string `json:"error"`
	GoTable bool    `json:"go_table"`
	Text    bool    `json:"text"`
}

func create(answers *json.Encoder) error {
	return eachLine(func(line string) error {
		input, output, found := strings.Cut(line, "\t")
		if !found {
			return fmt.Errorf("no tab in %q", line)
		}
		answer := creation{
			GoTable: hasSection(input, ".gopclntab") || hasSection(input, ".data.rel.ro.gopclntab"),
			Text:    hasSection(input, ".text"),
		}
		// The options are those that Pyroscope gives.
		err := lidia.CreateLidia(input, output, lidia.WithCRC(), lidia.WithFiles(), lidia.WithLines())
		if err != nil {
			text := err.Error()
			answer.Error = &text
			os.Remove(output)
		}
		return answers.Encode(answer)
	})
}

func hasSection(path, name string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return file.Section(name) != nil
}

func check(paths []string, answers *json.Encoder) error {
	for _, path := range paths {
		var answer *string
		table, err := open(path)
		if err != nil {
			text := err.Error()
			answer = &text
		} else {
			table.Close()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func lookup(path string, answers *json.Encoder) error {
	table, err := open(path)
	if err != nil {
		return err
	}
	defer table.Close()
	var frames []lidia.SourceInfoFrame
	return eachLine(func(line string) error {
		address, err := strconv.ParseUint(strings.TrimPrefix(line, "0x"), 16, 64)
		if err != nil {
			return err
		}
		if frames, err = table.Lookup(frames, address); err != nil {
			return fmt.Errorf("lookup of %s: %w", line, err)
		}
		chain := make([][2]string, len(frames))
		for i, frame := range frames {
			chain[i] = [2]string{frame.FunctionName, frame.FilePath}
		}
		return answers.Encode(chain)
	})
}

func eachLine(use func(string) error) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := use(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// The bytes of a file, as the module wants them.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func open(path string) (*lidia.Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return lidia.OpenReader(inMemory{bytes.NewReader(data)}, lidia.WithCRC())
}
