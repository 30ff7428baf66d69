package report

import (
	"io"
	"strings"
)

// Operator is a line of `triad ops list`.
type Operator struct {
	Name            string   `json:"op"`
	Summary         string   `json:"summary"`
	Formula         string   `json:"formula"`
	Passes          []string `json:"passes"`
	DTypes          []string `json:"dtypes"`
	Implementations []string `json:"implementations,omitempty"` // names; empty where nothing was loaded
}

// OperatorDetail holds what `triad ops show` prints.
type OperatorDetail struct {
	Operator
	Source     string       `json:"source"` // the paper
	Attributes []Attribute  `json:"attributes"`
	Signatures []PassDetail `json:"signatures"`
	// cases whose answer says little, and that still are judged
	Trivial      string                 `json:"trivial_by_design"`
	Unasked      []Unasked              `json:"unasked"`
	Relations    []RelationDeclared     `json:"relations"`
	Declarations []ImplementationDetail `json:"declared"`
}

// Unasked describes something that no case of the default level on a CPU tests, in a sentence.
type Unasked struct {
	Pass       string   `json:"pass"`
	DTypes     []string `json:"dtypes"`
	Sentence   string   `json:"sentence"`
	EveryDType bool     `json:"-"` // the dtypes are all that the pass has
}

// RelationDeclared is something that must hold of the outputs for any inputs: gate G6.
type RelationDeclared struct {
	Pass  string `json:"pass"`
	Name  string `json:"name"`
	Calls int    `json:"calls"` // further calls of the implementation that it needs
}

// Attribute is one attribute of an operator, with its allowed values and its default.
type Attribute struct {
	Name    string `json:"name"`
	Allowed string `json:"allowed"` // "true or false", "tensor, row, block", "a number"
	Default string `json:"default"`
}

// PassDetail lists the tensors of one pass in the order of the spec.
type PassDetail struct {
	Pass    string             `json:"pass"`
	Formula string             `json:"formula"`
	Tensors []TensorDeclared   `json:"tensors"`
	Allowed []ContractDeclared `json:"contracts"`
}

// TensorDeclared is an input or output as the spec declares it.
type TensorDeclared struct {
	Name  string `json:"name"`
	Role  string `json:"role"` // "in", "out", "out, optional"
	DType string `json:"dtype"`
	Shape string `json:"shape"` // "[rows, cols]"
}

// ContractDeclared is a contract that the operator permits.
type ContractDeclared struct {
	Name    string `json:"name"`
	Default bool   `json:"default"`
	DTypes  string `json:"dtypes"`
}

// ImplementationDetail is one implementation of one pass as it registered itself.
type ImplementationDetail struct {
	Name       string   `json:"name"`
	Pass       string   `json:"pass"`
	DTypes     []string `json:"dtypes"`
	Contract   string   `json:"contract"`
	Device     string   `json:"device"`
	Constraint string   `json:"constraint"`
}

// Operators writes the table of `triad ops list`.
func Operators(w io.Writer, style Style, operators []Operator) error {
	rows := make([][]string, len(operators))
	for i, o := range operators {
		rows[i] = []string{
			o.Name, strings.Join(o.Passes, ", "), strings.Join(o.DTypes, ", "),
			clean(o.Summary),
		}
	}
	return style.Table(w, "", columns("op", "passes", "dtypes", "summary"), rows)
}

// ShowOperator writes the declaration of an operator: tensors and contracts of each pass, attributes,
// implementations.
func ShowOperator(w io.Writer, style Style, o OperatorDetail) error {
	w = style.Wrap(w)
	title := style.paint(bold, o.Name)
	if o.Source != "" {
		title += "  (" + clean(o.Source) + ")"
	}
	if err := write(w, title+"\n"); err != nil {
		return err
	}
	for _, p := range o.Signatures {
		if err := showSignature(w, style, p); err != nil {
			return err
		}
	}
	if len(o.Attributes) > 0 {
		rows := make([][]string, len(o.Attributes))
		for i, a := range o.Attributes {
			rows[i] = []string{a.Name, a.Default, clean(a.Allowed)}
		}
		if err := write(w, "\n"); err != nil {
			return err
		}
		if err := style.Table(w, "", columns("attribute", "default", "allowed"), rows); err != nil {
			return err
		}
	}
	if err := judgedFor(w, style, o); err != nil {
		return err
	}
	if len(o.Declarations) == 0 {
		return nil
	}
	rows := make([][]string, len(o.Declarations))
	for i, d := range o.Declarations {
		rows[i] = []string{
			d.Name, d.Pass, strings.Join(d.DTypes, ", "), d.Contract, d.Device,
			clean(d.Constraint),
		}
	}
	if err := write(w, "\n"); err != nil {
		return err
	}
	return style.Table(w, "", columns("implementation", "pass", "dtypes", "contract", "device", "constraint"),
		rows)
}

// showSignature prints the tensors and contracts of one pass.
func showSignature(w io.Writer, style Style, p PassDetail) error {
	heading := p.Pass
	if p.Formula != "" {
		heading += ": " + clean(p.Formula)
	}
	if err := write(w, "\n"+heading+"\n"); err != nil {
		return err
	}
	rows := make([][]string, len(p.Tensors))
	for i, t := range p.Tensors {
		rows[i] = []string{t.Name, t.Role, t.DType, t.Shape}
	}
	if err := style.Table(w, "  ", columns("tensor", "role", "dtype", "shape"), rows); err != nil {
		return err
	}
	var contracts []string
	for _, c := range p.Allowed {
		words := c.Name
		if c.DTypes != "" {
			words += " (" + c.DTypes + ")"
		}
		if c.Default {
			words += ", the default"
		}
		contracts = append(contracts, words)
	}
	if len(contracts) == 0 {
		return nil
	}
	return write(w, "  contracts: "+strings.Join(contracts, "; ")+"\n")
}

// judgedFor writes what must hold of the outputs for any inputs, and which cases say little by design.
func judgedFor(w io.Writer, style Style, o OperatorDetail) error {
	if len(o.Relations) > 0 {
		rows := make([][]string, len(o.Relations))
		for i, r := range o.Relations {
			calls := "the judged call alone"
			if r.Calls > 0 {
				calls = counted(r.Calls, "further call")
			}
			rows[i] = []string{clean(r.Name), r.Pass, calls}
		}
		if err := write(w, "\n"); err != nil {
			return err
		}
		if err := style.Table(w, "", columns("what must hold (G6)", "pass", "takes"), rows); err != nil {
			return err
		}
	}
	if o.Trivial != "" {
		if err := write(w, "\njudged, but trivial by design: "+clean(o.Trivial)+"\n"); err != nil {
			return err
		}
	}
	return notAsked(w, o.Unasked)
}

// notAsked writes what no case tests.
func notAsked(w io.Writer, all []Unasked) error {
	if len(all) == 0 {
		return nil
	}
	text := "\nnot asked by the default level on a CPU\n"
	for _, u := range all {
		line := "  " + u.Pass + ": " + clean(u.Sentence)
		if !u.EveryDType {
			line += "; in " + strings.Join(u.DTypes, ", ")
		}
		text += line + "\n"
	}
	return write(w, text)
}

// Finding is one thing that `triad doctor` checked.
type Finding struct {
	Subject string `json:"subject"` // "g++", "Python", "GPU", "database"
	State   string `json:"state"`   // "ok", "missing", "broken", "note"
	Detail  string `json:"detail"`  // version, path, size
	Remedy  string `json:"remedy"`  // how to get it; "" where nothing is to be done
}

// Doctor writes what was found, and below it the remedies for what is missing.
func Doctor(w io.Writer, style Style, findings []Finding) error {
	colours := map[string]colour{"ok": good, "missing": mild, "broken": bad}
	rows := make([][]string, len(findings))
	remedies := ""
	for i, f := range findings {
		state := f.State
		if c, known := colours[state]; known {
			state = style.paint(c, state)
		}
		rows[i] = []string{f.Subject, state, clean(f.Detail)}
		if f.Remedy != "" {
			remedies += "  " + f.Subject + ": " + clean(f.Remedy) + "\n"
		}
	}
	if err := style.Table(w, "", columns("subject", "state", "detail"), rows); err != nil {
		return err
	}
	if remedies == "" {
		return nil
	}
	return write(w, "\nWhat to do:\n"+remedies)
}
