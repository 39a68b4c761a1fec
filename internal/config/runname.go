package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// RunName returns a name for this run that is unique in its table of slots. If the system says when processes began,
// other processes on this machine can see from the name whether the run has died.
func RunName() string {
	name := fmt.Sprintf("%s/%d/%s", Hostname(), os.Getpid(), rand.Text()[:8])
	if began := processBegan(os.Getpid()); began != "" {
		name += "/" + processSpace() + "/" + began
	}
	return name
}

// RunDied reports whether the process of a run is certainly gone: it ran on this machine since it was last started,
// where this process could see it, and no process has its number and start time.
func RunDied(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 5 || parts[0] != Hostname() || parts[3] != processSpace() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && processBegan(os.Getpid()) != "" && processBegan(pid) != parts[4]
}

// processSpace identifies this boot of the machine and the namespace of the process numbers that this process sees.
func processSpace() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256(append(boot, space...))
	return hex.EncodeToString(sum[:4])
}

// processBegan returns when a process began, in ticks since the machine's start: field 22 of proc_pid_stat(5). It is ""
// if there is no such process, or the system does not say.
func processBegan(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(stat), ") ") // the name may hold anything but that
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" { // a zombie no longer works
		return ""
	}
	return fields[19]
}
