package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Description holds what pybridge/problems/problem_describe.py found in a problem.
type Description struct {
	Refused  string `json:"refused"`  // why it cannot be imported; "" otherwise
	Constant bool   `json:"constant"` // the reason is that its answer does not depend on its inputs

	DTypes     []string    `json:"dtypes"`
	Dims       []dim       `json:"dims"`
	Attributes []attribute `json:"attributes"`
	Inputs     []tensor    `json:"inputs"`
	Outputs    []tensor    `json:"outputs"`
	// Distributions are the kinds of data that the reference has a bounded answer for; Quick those of --quick
	Distributions []string           `json:"distributions"`
	Quick         []string           `json:"quick"`
	Shapes        []map[string]int64 `json:"shapes"` // of ours
	Every         map[string]int64   `json:"every"`  // of them the one that meets every distribution
	Own           map[string]int64   `json:"own"`    // the problem's
	OwnNeedsGPU   bool               `json:"own_needs_gpu"`

	// Pinned are shapes with other values of attributes that the problem uses; OwnAttributes those of its own
	// sizes, where they are not the defaults
	Pinned        []pinned                   `json:"pinned"`
	OwnAttributes map[string]json.RawMessage `json:"own_attributes"`

	InPlace    map[string]string `json:"in_place"`    // by an output the input that it overwrites
	Weak       []string          `json:"weak"`        // what its own check lets pass
	Writes     []string          `json:"writes"`      // the inputs that the reference writes into
	NoGradient string            `json:"no_gradient"` // why the gradients are not judged
	Notes      []string          `json:"notes"`       // further remarks, in sentences
	Plan       json.RawMessage   `json:"plan"`        // how the reference and a submission are called
}

type dim struct {
	Name       string `json:"name"`
	MayBeEmpty bool   `json:"may_be_empty"` // it may be 0
	Empties    bool   `json:"empties"`      // and a tensor has no elements then
}

type attribute struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default"`
	Least   *int64          `json:"least"`
	Below   *int64          `json:"below"`
	Draws   bool            `json:"draws"`
}

type pinned struct {
	Sizes      map[string]int64           `json:"sizes"`
	Attributes map[string]json.RawMessage `json:"attributes"`
}

type tensor struct {
	Name           string   `json:"name"`
	DType          string   `json:"dtype"`
	Shape          []string `json:"shape"`
	Differentiable bool     `json:"differentiable"`
	Fill           string   `json:"fill"`
}

// MostDescription is the maximum size of a description in bytes.
const MostDescription = 1 << 20

// refusal explains why a problem cannot be imported.
type refusal struct {
	sentence string
	constant bool
}

func (r *refusal) Error() string { return r.sentence }

func parseDescription(text []byte) (*Description, error) {
	if len(text) > MostDescription {
		return nil, fmt.Errorf("its description has %d bytes: want at most %d", len(text), MostDescription)
	}
	d := &Description{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, errors.New("reading it ended without a description")
	}
	if d.Refused != "" {
		return nil, &refusal{strings.TrimSuffix(d.Refused, "."), d.Constant}
	}
	if len(d.Dims) == 0 || len(d.Inputs) == 0 || len(d.Outputs) == 0 || len(d.Shapes) == 0 ||
		len(d.DTypes) != 1 || len(d.Distributions) == 0 {
		return nil, errors.New("its description is incomplete")
	}
	return d, nil
}

// notes returns the remarks on a problem, in sentences.
func (d *Description) notes() []string {
	var all []string
	if len(d.Weak) > 0 {
		all = append(all, "WEAK: the problem's own check also accepts "+strings.Join(d.Weak, ", and ")+".")
	}
	if len(d.Writes) > 0 {
		all = append(all, "The reference writes into "+strings.Join(d.Writes, ", ")+".")
	}
	if d.NoGradient != "" {
		all = append(all, "The gradients are not judged: "+d.NoGradient+".")
	}
	all = append(all, d.Notes...)
	if d.OwnNeedsGPU {
		all = append(all, "The problem's own sizes are judged on a GPU alone.")
	}
	return all
}
