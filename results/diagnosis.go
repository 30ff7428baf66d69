package results

import (
	"context"
	"database/sql"
	"fmt"

	"triad/internal/record"
)

// AddDiagnosis stores why a recorded run is wrong.
func (x *Session) AddDiagnosis(ctx context.Context, run string, d record.Diagnosis) error {
	text, err := jsonOrNull(&d)
	if err != nil {
		return fmt.Errorf("record the diagnosis of run %s: %w", run, err)
	}
	return x.store.write(ctx, "record a diagnosis", func(tx *sql.Tx) error {
		done, err := tx.Exec("UPDATE run SET diagnosis_json = ? WHERE run_ulid = ?", text, run)
		return oneRow(done, err, run)
	})
}
