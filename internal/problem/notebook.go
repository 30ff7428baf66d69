package problem

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"triad/internal/userfile"
)

// Notebook is the ending of Jupyter's notebooks, of which the code cells are read.
const Notebook = ".ipynb"

// readCode reads a file that may hold problems; of a notebook the code, as a file of Python.
func readCode(path string) ([]byte, error) {
	content, err := userfile.Read(path)
	if err != nil || filepath.Ext(path) != Notebook {
		return content, err
	}
	return Code(content), nil
}

// Code returns the code cells of a notebook as a file of Python; nothing where it is no notebook.
func Code(notebook []byte) []byte {
	var book struct {
		Cells []struct {
			Kind   string `json:"cell_type"`
			Source lines  `json:"source"`
		} `json:"cells"`
	}
	if json.Unmarshal(notebook, &book) != nil {
		return nil
	}
	var all strings.Builder
	for _, cell := range book.Cells {
		// a cell that begins with a magic of two signs is of another language, or is for the shell
		if cell.Kind != "code" || strings.HasPrefix(string(cell.Source), "%%") {
			continue
		}
		if all.Len() > 0 {
			all.WriteString("\n\n")
		}
		all.WriteString(strings.TrimRight(string(cell.Source), "\n") + "\n")
	}
	return []byte(all.String())
}

// lines is the text of a cell: a string, or a list of its lines.
type lines string

// UnmarshalJSON reads either.
func (l *lines) UnmarshalJSON(text []byte) error {
	var parts []string
	if json.Unmarshal(text, &parts) == nil {
		*l = lines(strings.Join(parts, ""))
		return nil
	}
	return json.Unmarshal(text, (*string)(l))
}
