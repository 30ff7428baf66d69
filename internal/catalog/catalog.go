// Package catalog holds the operators, each in a folder of its own: <op>/<op>.toml says as data what it is,
// <op>/findings.toml what is known of libraries' rows. This package reads the data alone; the Go package in
// the folder is the operator's truth, and is found through internal/truth.
package catalog

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
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

// specFile and findingsFile are where an operator's data lies, below internal/catalog.
func specFile(name string) string     { return name + "/" + name + ".toml" }
func findingsFile(name string) string { return name + "/findings.toml" }

// load reads every embedded spec, in the order of the folders' names.
var load = sync.OnceValues(func() ([]*Operator, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	var all []*Operator
	for _, entry := range entries {
		o, err := read(entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
})

// read reads the spec and the findings in the folder of one operator. There may be no findings.
func read(name string) (*Operator, error) {
	text, err := files.ReadFile(specFile(name))
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	spec, err := op.Load("internal/catalog/"+specFile(name), text)
	if err != nil {
		return nil, err
	}
	if spec.Name != name {
		return nil, fmt.Errorf("read spec internal/catalog/%s: its name is %q: want the name of its folder",
			specFile(name), spec.Name)
	}
	text, err = files.ReadFile(findingsFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return &Operator{Spec: spec}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	findings, err := op.LoadFindings("internal/catalog/"+findingsFile(name), text, spec)
	if err != nil {
		return nil, err
	}
	return &Operator{Spec: spec, Findings: findings}, nil
}

// All lists every operator by name. A spec that cannot be read is an error of the build, which the package's
// tests refuse; All then lists none, and Get says why.
func All() []*Operator {
	all, _ := load()
	return all
}

// Names lists the names of the operators.
func Names() []string {
	var names []string
	for _, o := range All() {
		names = append(names, o.Spec.Name)
	}
	return names
}

// Source gives the text of the spec of an operator.
func Source(name string) ([]byte, error) {
	if _, err := Get(name); err != nil {
		return nil, err
	}
	return files.ReadFile(specFile(name))
}

// Get gives the operator called name. A name that is not there is an *op.UsageError that says what is.
func Get(name string) (*Operator, error) {
	all, err := load()
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.Spec.Name == name {
			return o, nil
		}
	}
	return nil, &op.UsageError{Message: fmt.Sprintf("unknown operator %q: want one of %s", name,
		strings.Join(Names(), ", "))}
}
