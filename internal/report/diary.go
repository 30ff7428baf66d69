package report

import (
	"fmt"
	"io"
	"strings"

	"triad/internal/diary"
)

// shownGap is the longest run of days without an entry of which each has its own row.
const shownGap = 7

var diaryColumns = []string{"day", "file", "what", "verdict", "gradients", "speed", "changed"}

// Diary writes a diary as a table. from says what it was made from.
func Diary(w io.Writer, style Style, d diary.Diary, from string) error {
	if len(d.Days) == 0 {
		return write(w, "No run of a file in this folder, and no commit of one. "+from+"\n")
	}
	rows := diaryRows(d)
	for _, row := range rows {
		for i := range row {
			row[i] = clean(row[i])
		}
	}
	if err := style.Table(w, "", columns(diaryColumns...), rows); err != nil {
		return err
	}
	return write(w, "\n"+summaryOf(d)+" "+from+"\n")
}

// DiaryMarkdown returns a diary as a table of Markdown.
func DiaryMarkdown(d diary.Diary) string {
	if len(d.Days) == 0 {
		return "No run yet.\n"
	}
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(diaryColumns)
	b.WriteString(strings.Repeat("|---", len(diaryColumns)) + "|\n")
	for _, row := range diaryRows(d) {
		for i := range row {
			row[i] = inMarkdown(row[i])
		}
		line(row)
	}
	b.WriteString("\n" + summaryOf(d) + "\n")
	return b.String()
}

// inMarkdown returns a cell of a table of Markdown that shows a text as it is.
func inMarkdown(text string) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "<", "&lt;", "[",
		"\\[", "&", "&amp;", "~", "\\~", "#", "\\#", "@", "&#64;", "!", "\\!").Replace(text)
}

func summaryOf(d diary.Diary) string {
	s := d.Streak()
	return fmt.Sprintf("Days: %d, with a run %d; most in a row %d, now %d.", s.Days, s.Judged, s.Longest,
		s.Current)
}

// diaryRows returns the rows of a diary. A file's day is a row; so is a day without an entry, and a long run
// of such days.
func diaryRows(d diary.Diary) [][]string {
	var rows [][]string
	for i := 0; i < len(d.Days); i++ {
		day := d.Days[i]
		gap := 0
		for i+gap < len(d.Days) && len(d.Days[i+gap].Files) == 0 {
			gap++
		}
		if gap > shownGap {
			rows = append(rows, []string{
				day.Date + " to " + d.Days[i+gap-1].Date, fmt.Sprintf("no run on %d days", gap), "", "", "",
				"", "",
			})
			i += gap - 1
			continue
		}
		if gap > 0 {
			rows = append(rows, []string{day.Date, "no run", "", "", "", "", ""})
			continue
		}
		for _, f := range day.Files {
			rows = append(rows, []string{
				day.Date, f.File, strings.Join(f.What, ", "), verdictOf(f, f.Verdict),
				verdictOf(f, f.Gradients), speedOf(f), strings.Join(f.Changed, "; "),
			})
		}
	}
	return rows
}

// verdictOf returns a verdict of a file's day with the share of wrong cases.
func verdictOf(f diary.File, v *diary.Verdict) string {
	switch {
	case !f.Judged():
		return "not judged"
	case v == nil:
		return "-"
	case v.Bad > 0:
		return fmt.Sprintf("%s (%d of %d wrong)", v.Status, v.Bad, v.Good+v.Bad)
	}
	return v.Status
}

// speedOf returns the time of the first case that was timed, or on what the file ran.
func speedOf(f diary.File) string {
	of := f.Verdict
	if of == nil {
		of = f.Gradients
	}
	switch {
	case f.MedianNS > 0:
		return Duration(f.MedianNS) + ", " + f.Timed
	case of == nil || of.Device == "":
		return "-"
	}
	return "not timed (" + of.Device + ")"
}
