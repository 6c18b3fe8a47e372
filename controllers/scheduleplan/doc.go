// Package scheduleplan decides what becomes of an EtcdBackupSchedule. Next is a pure function from what was observed to the one
// thing to do now; Status, Events and ExpectedBy are pure functions from that to what people see.
//
// # Words
//
// A schedule is one EtcdBackupSchedule. Each time that it names has a run: the EtcdBackup whose name is made from the
// schedule's and that time, so that two operators, or one that crashed, make one. A run is due when its time has come,
// and missed while it was not begun. The record is an annotation on the schedule: the last time for which a run was
// begun, or left out. It outlives the EtcdBackups, which tell it too.
//
// # The order of rules
//
//  1. What is not to be touched: deleting, other-operator.
//  2. What was begun is written down: record-run.
//  3. What keeps it from beginning anything: suspended, unreadable, never-fires, cluster-missing.
//  4. What is due: left-out (missed for longer than the starting deadline), previous-running (never two at once),
//     create-run.
//  5. Nothing is due: running, wait.
//
// Of several runs that were missed the newest alone is made up for. Nothing is ever decided from the status.
package scheduleplan
