package exercise

import "time"

// Line is an exercise as triad learn --json prints it.
type Line struct {
	Name string `json:"exercise"`
	Day  int    `json:"day"`
	Idea string `json:"idea"`
	Task string `json:"task"` // "" for most
	Pass string `json:"pass"`
	File string `json:"file"`
	Done bool   `json:"done"`
	// of the first run that passed; "" if there is none
	DoneUTC string `json:"done_utc"`
	Session string `json:"session"`
}

// Lines returns exercises as they are printed in JSON.
func Lines(all []Exercise, done map[string]Pass) []Line {
	lines := make([]Line, len(all))
	for i, e := range all {
		lines[i] = Line{
			Name: e.Name, Day: e.Day, Idea: e.Idea, Task: e.Task, Pass: e.Pass.String(), File: e.File,
		}
		if p, is := done[e.Name]; is {
			lines[i].Done, lines[i].Session = true, p.Session
			lines[i].DoneUTC = p.Time.UTC().Format(time.RFC3339)
		}
	}
	return lines
}
