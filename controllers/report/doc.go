// Package report says what a pass saw and did, for people and for tools: the status, the events and the values of the
// metrics. It is pure: the same input gives the same output, and nothing is read or written here.
//
// Three rules hold everywhere in it:
//
//   - Nothing is claimed that this pass did not verify. What could not be asked is absent or Unknown, never the last
//     value that was seen: Available is True only with a linearizable read in this very pass, and quorum.margin is
//     absent while the member list is not known.
//   - Nothing moves while nothing happens. Numbers that grow under load move in steps of a tenth of the quota, first
//     error texts are kept while the reason stays, and no timestamp moves by itself.
//   - The old status is read for display only: when something began, and whether the wanted size was once reached. No
//     decision sees it.
package report
