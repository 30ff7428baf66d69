package check

import (
	"os"
)

// WorkingFolder returns the working directory of this process; "" if it is not known, and files keep their
// full names.
func WorkingFolder() string {
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	return folder
}
