package native

import "triad/internal/report"

// figure is a drawing of records.
type figure struct {
	Kind  string `json:"kind"`
	Title string `json:"title"`
	Words string `json:"words"` // its alternative text
	SVG   string `json:"svg"`
}

// Figures draws records, one JSON object a line, as `triad results plot` does, and returns the drawings as
// JSON: those that need only the records.
func Figures(lines string) (text string, err error) {
	defer guard("Figures", &err)()
	enter("Figures")
	records, err := readRecords(lines)
	if err != nil {
		return "", err
	}
	all := []figure{}
	for _, f := range report.Figures(report.Page{Records: records}) {
		all = append(all, figure{f.Kind, f.Drawing.Title, f.Drawing.Words, f.Drawing.File()})
	}
	return asJSON(all)
}
