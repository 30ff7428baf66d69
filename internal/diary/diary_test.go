package diary

import (
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// tally is a good forward of a file on a day of November 2026.
func tally(day int, impl string, added ...string) record.Tally {
	return record.Tally{
		Session: "s" + string(rune('a'+day)), Op: "add", Pass: op.Forward, Impl: impl, Added: added, Good: 2,
		Complete: true, Status: op.StatusPass, Started: time.Date(2026, 11, day, 23, 30, 0, 0, time.UTC),
	}
}

// of makes the diary of /home/me, as of the third of November.
func of(zone *time.Location, tallies ...record.Tally) Diary {
	return Of(Sources{
		Folder: "/home/me", Tallies: tallies, Today: time.Date(2026, 11, 3, 12, 0, 0, 0, zone),
	})
}

// A session that holds several functions of a file has the verdict of the worst; a stopped one says so.
func TestWorstFunctionCounts(t *testing.T) {
	wrong := tally(2, "mine/a.cu:second", "/home/me/a.cu")
	wrong.Bad, wrong.Status, wrong.Message, wrong.Complete = 1, op.StatusFail, "y[0] is wrong", false
	d := of(time.UTC, tally(2, "mine/a.cu:first", "/home/me/a.cu"), wrong,
		tally(2, "mine/a.cu:third", "/home/me/a.cu"))
	got := d.Days[0].Files[0]
	if len(d.Days) != 2 || len(d.Days[0].Files) != 1 || got.Verdict.Status != "FAIL, stopped" ||
		got.Verdict.Message != "y[0] is wrong" || got.Gradients != nil || len(got.Changed) > 0 {
		t.Errorf("%+v, %+v", d, got.Verdict)
	}
}

// The path identifies a file: files of one name in several folders, a named function, and another's folder.
func TestFilesByPath(t *testing.T) {
	d := of(
		time.UTC,
		tally(1, "mine/x/a.cu", "/home/me/x/a.cu", "/home/me/y/a.cu", "--block=256"),
		tally(1, "mine/y/a.cu:f", "/home/me/x/a.cu", "/home/me/y/a.cu:f@backward"),
		tally(1, "mine/b.cu", "/home/me2/b.cu"),
		tally(1, "mine/c.cu"),
	)
	files := d.Days[0].Files
	if len(files) != 2 || files[0].File != "x/a.cu" || files[1].File != "y/a.cu" || d.Elsewhere != 2 {
		t.Errorf("%+v, %d elsewhere", files, d.Elsewhere)
	}
}

// A look at a folder, and compare with one, name the file of each implementation.
func TestFilesOfALook(t *testing.T) {
	added := []string{"file:mine/a.cu=/home/me/day3/a.cu", "file:mine/b.py=/home/me/day3/b.py", "--quick"}
	d := of(time.UTC, tally(1, "mine/a.cu", added...), tally(1, "mine/b.py:f", added...),
		tally(1, "mine/c.cu", "file:mine/c.cu=/home/me2/c.cu", "file:mine/d.cu=/home/me/c.cu"))
	files := d.Days[0].Files
	if len(files) != 2 || files[0].File != "day3/a.cu" || files[1].File != "day3/b.py" || d.Elsewhere != 1 {
		t.Errorf("%+v, %d elsewhere", files, d.Elsewhere)
	}
}

// A day begins at midnight of the zone of today.
func TestDaysOfAZone(t *testing.T) {
	east := time.FixedZone("east", 3600)
	for _, c := range []struct {
		zone *time.Location
		date string
	}{{time.UTC, "2026-11-01"}, {east, "2026-11-02"}} {
		if got := of(c.zone, tally(1, "mine/a.cu", "/home/me/a.cu")).Days[0].Date; got != c.date {
			t.Errorf("in %v the day is %s, want %s", c.zone, got, c.date)
		}
	}
}

// The streak counts days that follow each other, and ends with a day without a run.
func TestStreak(t *testing.T) {
	d := of(time.UTC, tally(1, "mine/a.cu", "/home/me/a.cu"), tally(2, "mine/a.cu", "/home/me/a.cu"))
	if got := d.Streak(); got != (Streak{Days: 3, Judged: 2, Longest: 2, Current: 0}) {
		t.Errorf("%+v", got)
	}
	if got := of(time.UTC).Streak(); got != (Streak{}) {
		t.Errorf("of nothing: %+v", got)
	}
}
