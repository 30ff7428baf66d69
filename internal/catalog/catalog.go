// Package catalog holds the operators: for each a spec, <op>.toml, that says as data what it is, and <op>.go, the fp64 truth of what it
// computes. It knows nothing of how anybody computes it.
package catalog

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"triad/internal/op"
)

//go:embed *.toml
var files embed.FS

// Operator is one operator: of the catalog, or, with a Reference, of a user's own.
type Operator struct {
	Spec      *op.Spec
	Reference Reference    // nil: the truth is the catalog's
	Findings  []op.Finding // known faults of libraries' rows: <op>_findings.toml
}

// findingsEnding is how the file of an operator's findings ends, after its name.
const findingsEnding = "_findings.toml"

// load reads every embedded spec, in the order of the file names.
var load = sync.OnceValues(func() ([]*Operator, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	var all []*Operator
	for _, entry := range entries {
		if name, is := strings.CutSuffix(entry.Name(), findingsEnding); is {
			if _, err := fs.Stat(files, name+".toml"); err != nil {
				return nil, fmt.Errorf("read findings %s: there is no operator %s", entry.Name(), name)
			}
			continue
		}
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		spec, err := op.Load("internal/catalog/"+entry.Name(), text)
		if err != nil {
			return nil, err
		}
		if stem := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())); stem != spec.Name {
			return nil, fmt.Errorf("read spec %s: its name is %q: want the stem of the file", entry.Name(), spec.Name)
		}
		findings, err := findingsOf(spec)
		if err != nil {
			return nil, err
		}
		all = append(all, &Operator{Spec: spec, Findings: findings})
	}
	return all, nil
})

// findingsOf reads the findings of an operator; it may have none.
func findingsOf(spec *op.Spec) ([]op.Finding, error) {
	text, err := files.ReadFile(spec.Name + findingsEnding)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return op.LoadFindings("internal/catalog/"+spec.Name+findingsEnding, text, spec)
}

// All lists every operator by name. A spec that cannot be read is an error of the build, which the package's tests refuse; All then lists
// none, and Get says why.
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
	return files.ReadFile(name + ".toml")
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
	return nil, &op.UsageError{Message: fmt.Sprintf("unknown operator %q: want one of %s", name, strings.Join(Names(), ", "))}
}
