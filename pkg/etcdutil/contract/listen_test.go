package contract

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// A member is told to listen on [::], and does so on every address there is: also where the kernel has no IPv6 at all.
// Go takes the two wildcards for one, and opens the socket that the kernel has.
func TestRealEtcdListensOnEveryAddressOfTheFamiliesThatTheKernelHas(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			for _, isWithout := range []bool{false, true} {
				w := newRealWorld(t, version)
				if isWithout {
					w.withoutIPv6()
				}
				clients, metrics := w.listenEverywhere()
				p := &play{TB: t, world: w}
				p.start(fresh("a", "a"))
				for _, port := range []string{clients, metrics} {
					p.until("127.0.0.1:"+port+" answers, or etcd ends", func() bool { return dials("127.0.0.1", port) || w.ended("a") })
					if w.ended("a") {
						t.Fatalf("etcd ended:\n%s", w.tail("a"))
					}
					if got, want := dials("::1", port), !isWithout && hasIPv6(); got != want {
						t.Errorf("without IPv6 %v: [::1]:%s answers %v, want %v", isWithout, port, got, want)
					}
				}
				if !isWithout && hasIPv6() {
					dialled := dialTLS(t, client.Endpoint{Address: net.JoinHostPort("::1", clients)})
					p.accepted(func() error { return dialled.ReadLinearizable(t.Context()) })
				}
				w.kill("a")
			}
		})
	}
}

// listenEverywhere has members listen for clients and probes as the operator has them. It returns the two ports.
func (w *realWorld) listenEverywhere() (clients, metrics string) {
	clients, metrics = needs.FreePort(w.t), needs.FreePort(w.t)
	w.extra = []string{"--listen-client-urls=http://[::]:" + clients, "--listen-metrics-urls=http://[::]:" + metrics}
	return clients, metrics
}

func dials(host, port string) bool {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), time.Second)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

func hasIPv6() bool {
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		_ = listener.Close()
	}
	return err == nil
}

// withoutIPv6 runs members as on a kernel that was started with ipv6.disable=1.
func (w *realWorld) withoutIPv6() {
	w.wrapped, w.binary = []string{w.binary}, "/proc/self/exe"
	w.env = append(w.env, runWithoutIPv6+"=1")
}

// runWithoutIPv6 has this program become the one in its arguments, after the kernel has been told to refuse it sockets
// of IPv6.
const runWithoutIPv6 = "CONTRACT_RUN_WITHOUT_IPV6"

// instruction is one of a filter of system calls (linux/filter.h).
type instruction struct {
	code uint16
	_    uint8 // how many to skip if it is so
	skip uint8 // and if it is not
	k    uint32
}

const (
	load, jumpIfEqual, answer      = 0x20, 0x15, 0x06
	callNumber, firstArgument      = 0, 16 // in struct seccomp_data
	refuse, allow                  = 0x00050000, 0x7fff0000
	prSetSeccomp, prSetNoNewPrivs  = 22, 38
	seccompModeFilter, takesEffect = 2, 1
)

func becomeWithoutIPv6(args []string) error {
	filter := []instruction{
		{code: load, k: callNumber},
		{code: jumpIfEqual, skip: 3, k: syscall.SYS_SOCKET},
		{code: load, k: firstArgument},
		{code: jumpIfEqual, skip: 1, k: syscall.AF_INET6},
		{code: answer, k: refuse | uint32(syscall.EAFNOSUPPORT)},
		{code: answer, k: allow},
	}
	program := struct {
		length uint16
		first  *instruction
	}{uint16(len(filter)), &filter[0]}
	runtime.LockOSThread() // the filter is the thread's, and so is what it becomes
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, takesEffect, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("renouncing privileges: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("refusing IPv6: %w", errno)
	}
	return syscall.Exec(args[0], args, os.Environ())
}
