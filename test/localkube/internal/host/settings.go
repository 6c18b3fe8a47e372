package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const procSys = "/proc/sys"

// kernelSettings are what a kubelet sets on the whole machine when it starts
// (kubernetes/kubernetes:pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables).
var kernelSettings = []string{
	"vm/overcommit_memory",
	"vm/panic_on_oom",
	"kernel/panic",
	"kernel/panic_on_oops",
	"kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
}

// ReadSettings returns the settings that a kubelet changes, as they are now.
func ReadSettings() map[string]string {
	values := map[string]string{}
	for _, name := range kernelSettings {
		if data, err := os.ReadFile(filepath.Join(procSys, name)); err == nil {
			values[name] = strings.TrimSpace(string(data))
		}
	}
	return values
}

// RestoreSettings puts them back.
func RestoreSettings(values map[string]string) error {
	now := ReadSettings()
	for name, value := range values {
		if now[name] == value {
			continue
		}
		if err := os.WriteFile(filepath.Join(procSys, name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("putting back the kernel setting %s: %w", name, err)
		}
	}
	return nil
}
