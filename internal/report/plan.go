package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"triad/internal/op"
)

// PlannedCase is one case of a plan and who runs on it, as `--plan --json` writes it.
type PlannedCase struct {
	Case op.Case `json:"-"`
	// the case's own fields come before these
	Key       string       `json:"case"`
	Seed      uint64       `json:"seed"`
	Judged    bool         `json:"judged"`
	Timed     bool         `json:"timed"`
	Moderate  bool         `json:"moderate"`
	Relations []string     `json:"relations"`
	Elements  int64        `json:"elements"`
	Bytes     int64        `json:"bytes"`
	FLOPs     int64        `json:"flops"`
	Work      float64      `json:"work"`
	Runs      []PlannedRun `json:"runs"`
}

// PlannedRun is one implementation on a case; Status is "" if it is run, else the status that is recorded.
type PlannedRun struct {
	Impl     string `json:"impl"`
	Contract string `json:"contract"`
	Device   string `json:"device"`
	Source   string `json:"source"`
	Launches int    `json:"launches"`
	Status   string `json:"status"`
	Message  string `json:"message"`
}

// MarshalJSON puts the case's fields before the others.
func (c PlannedCase) MarshalJSON() ([]byte, error) {
	type plain PlannedCase
	what, err := json.Marshal(c.Case)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(plain(c))
	if err != nil {
		return nil, err
	}
	return slices.Concat(bytes.TrimSuffix(what, []byte("}")), []byte(","), rest[1:]), nil
}

// PlanJSON writes a plan as one object a line for each case.
func PlanJSON(w io.Writer, cases []PlannedCase) error {
	out := json.NewEncoder(w)
	for _, c := range cases {
		if err := out.Encode(c); err != nil {
			return fmt.Errorf("print the plan: %w", err)
		}
	}
	return nil
}

// Plan writes a plan as a table with a line for each case, and what is known beforehand below it.
func Plan(w io.Writer, style Style, cases []PlannedCase) error {
	w = style.Wrap(w)
	var rows [][]string
	var known []string
	count := map[string]int{}
	runs, launches := 0, 0
	for _, c := range cases {
		here, all := 0, 0
		for _, r := range c.Runs {
			if r.Status != "" {
				if count[r.Status]++; count[r.Status] == 1 {
					known = append(known, r.Status)
				}
				continue
			}
			here++
			all += r.Launches
		}
		runs, launches = runs+here, launches+all
		rows = append(rows, []string{
			c.Case.Op, c.Case.Pass.String(), c.Case.DType, fmt.Sprint(here), fmt.Sprint(all),
			fmt.Sprintf("%.3g", c.Work),
			strings.Join(append([]string{caseWords(c.Case)}, c.marks()...), "; "),
		})
	}
	if err := style.Table(w, "", columns("op", "pass", "dtype", ">runs", ">launches", ">work", "case"),
		rows); err != nil {
		return err
	}
	text := fmt.Sprintf("\n%s, %s, launches: %d.", counted(len(cases), "case"), counted(runs, "run"),
		launches)
	for i, status := range known {
		text += map[bool]string{true: " Known beforehand: ", false: ", "}[i == 0] +
			fmt.Sprintf("%d %s", count[status], status)
	}
	if len(known) > 0 {
		text += "."
	}
	return write(w, text+" Nothing was run or recorded.\n")
}

// marks returns what is done with a case in addition to judging it.
func (c PlannedCase) marks() []string {
	var all []string
	switch {
	case c.Timed && c.Judged:
		all = append(all, "judged and timed")
	case c.Timed:
		all = append(all, "timed")
	}
	if c.Moderate {
		all = append(all, "launched more often")
	}
	if len(c.Relations) > 0 {
		all = append(all, counted(len(c.Relations), "relation"))
	}
	return all
}
