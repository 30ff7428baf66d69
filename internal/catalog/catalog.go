// Package catalog holds the operators, each in a folder of its own: <op>/<op>.toml is its spec as data,
// <op>/findings.toml lists what is known of libraries' rows. This package reads only the data; the Go package
// in the folder is the operator's truth, and is found through internal/truth.
package catalog

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"triad/internal/op"
)

//go:embed */*.toml
var files embed.FS

// Operator is one operator as data.
type Operator struct {
	Spec     *op.Spec
	Findings []op.Finding // known faults of libraries' rows
}

// specFile and findingsFile return the path of an operator's data, below internal/catalog.
func specFile(name string) string     { return name + "/" + name + ".toml" }
func findingsFile(name string) string { return name + "/findings.toml" }

// names are the names of the folders. Each of readers reads one operator, once: reading a spec takes
// a millisecond, and most commands and every worker need one.
var names, readers = func() ([]string, map[string]func() (*Operator, error)) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // of an embedded folder
	}
	var names []string
	readers := map[string]func() (*Operator, error){}
	for _, entry := range entries {
		name := entry.Name()
		names = append(names, name)
		readers[name] = sync.OnceValues(func() (*Operator, error) { return read(name) })
	}
	return names, readers
}()

// read reads the spec and the findings in the folder of one operator. There may be no findings.
func read(name string) (*Operator, error) {
	text, err := files.ReadFile(specFile(name))
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	spec, err := op.LoadProven("internal/catalog/"+specFile(name), text)
	if err != nil {
		return nil, err
	}
	if spec.Name != name {
		return nil, fmt.Errorf("read spec internal/catalog/%s: its name is %q: want the name of its folder",
			specFile(name), spec.Name)
	}
	if spec.Findings != "" {
		return nil, fmt.Errorf("read spec internal/catalog/%s: findings: want it in the spec of a copy alone",
			specFile(name))
	}
	findings, err := FindingsOf(name, spec)
	if err != nil {
		return nil, err
	}
	return &Operator{Spec: spec, Findings: findings}, nil
}

// FindingsOf returns the findings of the catalog's operator called name, for an operator with the given spec:
// its own or a copy's, which has the same dims, attributes and outputs. There may be none.
func FindingsOf(name string, spec *op.Spec) ([]op.Finding, error) {
	text, err := files.ReadFile(findingsFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return op.LoadFindings("internal/catalog/"+findingsFile(name), text, spec)
}

// All lists every operator by name. A spec that cannot be read is an error of the build, which the package's
// tests catch; All then leaves it out, and Get returns the error.
func All() []*Operator {
	var all []*Operator
	for _, name := range names {
		if o, err := readers[name](); err == nil {
			all = append(all, o)
		}
	}
	return all
}

// Names lists the names of the operators.
func Names() []string { return slices.Clone(names) }

// Source returns the text of the spec of an operator.
func Source(name string) ([]byte, error) {
	if _, err := Get(name); err != nil {
		return nil, err
	}
	return files.ReadFile(specFile(name))
}

// Get returns the operator called name. For an unknown name the error is an *op.UsageError that names the
// known ones.
func Get(name string) (*Operator, error) {
	if read, ok := readers[name]; ok {
		return read()
	}
	return nil, unknown(name)
}
