package check

import (
	"encoding/json"
	"testing"
)

// SARIF has what its schema requires: a log has version and runs, a run tool.driver.name, a result
// message.text, a location an artifact and a line of at least 1; rules are referred to by index.
func TestSARIF(t *testing.T) {
	text, err := SARIF(&Report{Findings: []Finding{
		{
			Kind:  Race,
			Place: &Place{File: "/home/u/a b.cu", Line: 3},
			Other: &Place{File: "/home/u/a b.cu", Line: 2},
		},
		{Kind: ExitStatus, Message: "exit status 1"},
	}}, "/home/u", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Schema  string `json:"$schema"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID, Level string
				RuleIndex     int
				Message       struct{ Text string }
				Locations     []sarifLocation
				Related       []sarifLocation `json:"relatedLocations"`
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || log.Schema == "" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 2 {
		t.Fatalf("%s", text)
	}
	driver := log.Runs[0].Tool.Driver
	if driver.Name == "" || driver.Version != "1.2.3" || len(driver.Rules) != len(Kinds) {
		t.Errorf("driver %+v", driver)
	}
	for _, r := range log.Runs[0].Results {
		if r.Message.Text == "" || r.Level == "" || driver.Rules[r.RuleIndex].ID != r.RuleID ||
			driver.Rules[r.RuleIndex].ShortDescription.Text == "" {
			t.Errorf("result %+v", r)
		}
	}
	race := log.Runs[0].Results[0]
	if len(race.Locations) != 1 || len(race.Related) != 1 ||
		race.Locations[0].Physical.Artifact.URI != "a%20b.cu" ||
		race.Locations[0].Physical.Region.StartLine != 3 {
		t.Errorf("locations %+v %+v", race.Locations, race.Related)
	}
	if len(log.Runs[0].Results[1].Locations) != 0 {
		t.Errorf("a finding without a line has a location")
	}
}
