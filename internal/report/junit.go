package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// junitSuites is the JUnit document that CI systems read: a suite for each operator and pass, a test case for
// each implementation and case.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Seconds  string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	seconds  float64
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds string        `xml:"time,attr"` // of the harness, emulation included: not the kernel's
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Type    string `xml:"type,attr,omitempty"` // the status
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes records as JUnit XML: bad records are failures, neutral ones are skipped. strict counts known
// faults of libraries as bad. added holds the words of the files that took part.
func JUnit(w io.Writer, records []record.Record, added []string, strict bool) error {
	doc := junitSuites{Name: "triad"}
	at := map[string]int{}
	for _, r := range records {
		name := r.Case.Op + " " + r.Case.Pass.String()
		if _, known := at[name]; !known {
			at[name] = len(doc.Suites)
			doc.Suites = append(doc.Suites, junitSuite{Name: name})
		}
		doc.Suites[at[name]].add(r, added, strict)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit's XML: %w", err)
	}
	out := xml.NewEncoder(w)
	out.Indent("", " ")
	if err := out.Encode(doc); err != nil {
		return fmt.Errorf("write JUnit's XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(r record.Record, added []string, strict bool) {
	c := junitCase{
		Class:   strings.Join([]string{r.Case.Op, r.Case.Pass.String(), r.Case.DType}, "."),
		Name:    r.Impl + " " + caseWords(r.Case),
		Seconds: fmt.Sprintf("%.3f", r.Wall.Seconds()),
	}
	message := junitMessage{Type: r.Status.String(), Message: clean(r.Message)}
	switch weight := r.Status.Weight(); {
	case weight == op.Bad || strict && r.Status == op.StatusKnown:
		message.Text = "\n" + facts(r, added)
		c.Failure = &message
		s.Failures++
	case weight == op.Neutral:
		c.Skipped = &junitMessage{Message: r.Status.String() + ": " + clean(r.Message)}
		s.Skipped++
	}
	s.Tests++
	s.seconds += r.Wall.Seconds()
	s.Seconds = fmt.Sprintf("%.3f", s.seconds)
	s.Cases = append(s.Cases, c)
}

// facts returns what one needs to follow up a failure: outputs, place, log, and the command that repeats it.
func facts(r record.Record, added []string) string {
	var text strings.Builder
	for _, v := range r.Outputs {
		if words := verdictWords(v); words != "" {
			fmt.Fprintf(&text, "%s: %s\n", v.Name, clean(words))
		}
	}
	if where := whereWords(r.Where); where != "" {
		fmt.Fprintf(&text, "where: %s\n", where)
	}
	if r.LogTail != "" {
		text.WriteString("end of the worker's log:\n" + cleanLines(r.LogTail, "  "))
	}
	fmt.Fprintf(&text, "run: %s\nagain on the same bits: %s\n", r.ID, clean(record.Repeat(r, added)))
	return text.String()
}
