package record

import "triad/internal/op"

// Diagnosis explains why a run of a user's file is wrong: the smallest case found that is wrong too, what
// usually causes such a fault, and what the emulator reports of that case when it watches every access.
type Diagnosis struct {
	Dims         Members[int64] `json:"dims"` // of the smallest case found
	Distribution string         `json:"distribution"`
	Status       op.Status      `json:"status"`
	Message      string         `json:"message"`
	Advice       string         `json:"advice"`   // "" if nothing is known
	Repeat       string         `json:"repeat"`   // the command that runs the smallest case again
	Findings     []Finding      `json:"findings"` // of the emulator
	Notes        []string       `json:"notes"`    // its other remarks
}

// Finding is one thing that the emulator saw in a watched run.
type Finding struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Where   *Where `json:"where"` // null if no line is known
	Other   *Where `json:"other"` // the second access of a race; null if there is none
	Meaning string `json:"meaning"`
	Mending string `json:"mending"`
	Text    string `json:"text"` // all of it, with the lines of the source, as `triad check` prints it
	Happens string `json:"-"`    // what happens, in half a line
	Remedy  string `json:"-"`    // what mends it, in half a line; "" if that is not known
}

// filled returns a copy whose empty lists are not null.
func (d *Diagnosis) filled() *Diagnosis {
	if d == nil {
		return nil
	}
	all := *d
	all.Findings, all.Notes = append([]Finding{}, d.Findings...), append([]string{}, d.Notes...)
	return &all
}
