package report

import "time"

// Times are shown in the time zone of the machine, with its name. Records, JSON and SQL have UTC.

// minuteOf returns a time to the minute: 2026-11-29 15:04 CET.
func minuteOf(t time.Time) string { return t.Local().Format("2006-01-02 15:04 MST") }

// secondOf returns a time to the second: 2026-11-29 15:04:05 CET.
func secondOf(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// dayOf returns the day of a time that is not today, and of today the minute.
func dayOf(t, now time.Time) string {
	day := t.Local().Format(time.DateOnly)
	if day == now.Local().Format(time.DateOnly) {
		return "today " + t.Local().Format("15:04 MST")
	}
	return day
}
