(** Prints the tables of `Word.v` and `Task.v`: `operation | word | next word | what is left to do`.
    Tests of the crate print the same lines from what its functions do. *)

Require Import Common.
Require Word Task.
Require Import List String NArith Bool DecimalString.
Import ListNotations.
Open Scope string_scope.

Definition line := String.concat " | ".

(** A line for each word: what an operation makes of it, and what is left to do. *)
Definition table {A} (show : A -> string) op words (does : A -> A * string) :=
  map (fun w => line [op; show w; show (fst (does w)); snd (does w)]) words.

(** * The word *)

Module Completion.
Import Word.

(** `P1` and `P2` are in the slot of the word, and `W1` and `W2` in a box or of the crate. *)
Definition w1 := 0. Definition w2 := 1. Definition p1 := 2. Definition p2 := 3.
Definition waker i := nth i ["W1"; "W2"; "P1"; "P2"] "".

Definition name e := match e with Done => "DONE" | Abandoned => "ABANDONED" end.
Definition show w := match w with
  | Pending => "PENDING" | Waker i => waker i | Ended e => name e | Detached => "DETACHED" end.

(** A look of a completer with a slot finds that the waiter has left, and the word stays. *)
Definition finishes (slotted : bool) e w := let (next, todo) := finish e w in
  (match slotted, w with true, Detached => w | _, _ => next end, match todo with
    | Unobserved => "nothing" | Wake i => "wake " ++ waker i
    | Owned => "own" | FinishedTwice => "never" end).

(** Registers `W2`, in the slot if it may. The end that the exchange finds is put back. *)
Definition registers slotted w :=
  let new := match slotted, w with true, Pending => p2 | _, _ => w2 end in
  let (next, todo) := exchange (Waker new) w in match todo with
    | Drop None => (next, "pending") | Drop (Some i) => (next, "pending, drop " ++ waker i)
    | Restore e => (Ended e, "ready " ++ name e ++ ", drop " ++ waker new)
    | DetachedBefore => (next, "never") end.

(** Looks first. An end is found without a registration, and so is the waker itself. *)
Definition polls slotted i w := match w with
  | Ended e => (w, "ready " ++ name e)
  | Waker j => if Nat.eqb i j then (w, "pending") else registers slotted w
  | _ => registers slotted w end.

(** The end that a waiter with a slot finds is put back. *)
Definition detaches (slotted : bool) w := let (next, todo) := exchange Detached w in
  (match slotted, w with true, Ended _ => w | _, _ => next end, match todo with
    | Drop None => "nothing" | Drop (Some i) => "drop " ++ waker i
    | Restore e => "own " ++ name e | DetachedBefore => "never" end).

Definition looks w := (w, match w with Ended e => name e | _ => "none" end).
Definition looks_for_detached w := (w, match w with Detached => "yes" | _ => "no" end).

Definition before_end := [Pending; Waker w1; Detached].
Definition of_waiter := [Pending; Waker w1; Ended Done; Ended Abandoned].
Definition finish_lines op slotted words :=
  flat_map (fun e => table show (op ++ name e) words (finishes slotted e)) [Done; Abandoned].

Definition lines := (["# src/completion.rs"] ++
  finish_lines "finish " false before_end ++
  table show "register W2" of_waiter (registers false) ++
  table show "poll W1" [Waker w1; Ended Done; Ended Abandoned] (polls false w1) ++
  table show "poll W2" of_waiter (polls false w2) ++
  table show "detach" of_waiter (detaches false) ++
  table show "ended" (before_end ++ [Ended Done; Ended Abandoned]) looks ++
  table show "is_detached" before_end looks_for_detached ++
  finish_lines "slotted finish " true (before_end ++ [Waker p1]) ++
  table show "slotted poll W2" (of_waiter ++ [Waker p1]) (polls true w2) ++
  table show "slotted detach" (of_waiter ++ [Waker p1]) (detaches true))%list.
End Completion.

(** * The state word *)

Module State.
Import Task.
Open Scope N_scope.

Section Lines.
  Variable quarter : N.

  Definition decimal n := NilZero.string_of_uint (N.to_uint n).
  (** `4q-1` is one less than the limit of wake-ups, of which `q` is a quarter. *)
  Definition number n := let k := (n + 50) / quarter in let base := k * quarter in
    if k =? 0 then decimal n else decimal k ++ "q" ++ match (n ?= base)%N with
      | Lt => "-" ++ decimal (base - n) | Eq => "" | Gt => "+" ++ decimal (n - base) end.

  Definition flag (set : bool) name := if set then name else "-".
  Definition show w := flag (handle w) "H" ++ flag (cancelled w) "C" ++ flag (finished w) "F" ++
    flag (panicked w) "P" ++ " " ++ number (refs w) ++ " " ++ number (wakes w).

  Definition next_name n := match n with
    | Nothing => "nothing" | Schedule => "schedule" | Orphan => "orphan" | Free => "free" end.
  Definition idle_name n := match n with
    | Leave => "leave" | Reschedule => "reschedule"
    | Cancel => "cancel" | OrphanLeft => "orphan" end.

  Definition bools := [false; true].
  Definition all_words := flat_map (fun h => flat_map (fun c => flat_map (fun f => flat_map
    (fun p => flat_map (fun r => map (fun k => {| handle := h; cancelled := c; finished := f;
      panicked := p; refs := r; wakes := k |})
    [0; 1; 2; 4 * quarter - 1; 4 * quarter]) [0; 1; 2]) bools) bools) bools) bools.
  (** A flag but `HANDLE` comes with a wake-up. A panic decides nothing. *)
  Definition legal w := if panicked w then wakes w =? 1
    else negb ((wakes w =? 0) && (cancelled w || finished w)).
  Definition words := filter legal all_words.

  (** An operation on the words on which it may be called. *)
  Definition calls {A} (name : A -> string) op may (does : word -> word * A) :=
    table show op (filter may words) (fun w => (fst (does w), name (snd (does w)))).

  Definition always (w : word) := true.
  Definition has_waker w := negb (refs w =? 0).
  Definition runs w := negb (finished w) && negb (wakes w =? 0).

  Definition lines := (["# src/task/state.rs"] ++
    map (fun h => line ["new"; ""; show (spawned h); "schedule"]) bools ++
    map (fun b => line ["revive"; ""; show (revive b); "schedule"]) bools ++
    calls next_name "add_waker" always (fun w => (add_waker quarter w, Nothing)) ++
    calls next_name "wake" always (wake quarter) ++
    calls next_name "wake_by_value" has_waker wake_by_value ++
    calls next_name "drop_waker" has_waker drop_waker ++
    calls next_name "detach" handle detach ++
    calls next_name "cancel" handle cancel ++
    calls next_name "abort" always abort ++
    calls next_name "set_panicked" (fun w => runs w && negb (panicked w))
      (fun w => (w <| panicked := true |>, Nothing)) ++
    calls next_name "finish runner" runs (finish false) ++
    calls next_name "finish handle" (fun w => runs w && handle w) (finish true) ++
    flat_map (fun consumed => calls idle_name ("idle " ++ number consumed)
      (fun w => runs w && (consumed <=? wakes w)) (idle quarter consumed))
      [0; 1; 2; 2 * quarter - 1; 2 * quarter; 4 * quarter - 1])%list.
End Lines.

(** The same text for the word of 64 bits and for that of 32. *)
Lemma both_sizes : lines (2 ^ 29) = lines (2 ^ 10).
Proof. vm_compute. reflexivity. Qed.
End State.

Eval vm_compute in (Completion.lines ++ State.lines (2 ^ 10))%list.
