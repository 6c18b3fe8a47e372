// Package host is about this machine: whether it can carry a localkube, what has to be installed on it, and which of its
// settings have to be put back afterwards.
package host

import (
	_ "embed" // for the script
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// fitnessScript is a script, so that it can be run before anything is built.
//
//go:embed fitness.sh
var fitnessScript string

// Check says everything this machine lacks, in one error, or nil if a localkube can run here.
func Check(cache string) error {
	missing, err := fitness("", "LOCALKUBE_CACHE="+cache)
	if missing != "" {
		return errors.New(missing)
	}
	return err
}

func fitness(argument string, environment ...string) (string, error) {
	cmd := exec.Command("sh", "-c", fitnessScript, "fitness.sh", argument)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("looking at this machine: %w", err)
	}
	return strings.TrimSpace(string(out)), err
}
