(** Prints the tables of `Word.v` and `Task.v`: `operation | word | next word | what is left to do`.
    Tests of the crate print the same lines from what its functions do. *)

Require Import Common.
Require Word Task.
Require Import List String NArith Bool DecimalString.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

Definition line (parts : list string) := String.concat " | " parts.

(** * The word *)

Module Completion.
Import Word.

Definition name e := match e with Done => "DONE" | Abandoned => "ABANDONED" end.
Definition digit (i : nat) := NilZero.string_of_uint (Nat.to_uint i).

(** A waker in the slot of its word is `P1`, in a box or of the crate `W1`. *)
Definition waker (in_place : bool) i := ((if in_place then "P" else "W") ++ digit i)%string.
Definition show in_place w := match w with
  | Pending => "PENDING" | Waker i => waker in_place i | Ended e => name e
  | Detached => "DETACHED" end.

Definition after_finish (slotted : bool) e w :=
  match slotted, w with true, Detached => w | _, _ => Ended e end.
Definition finish_line op slotted in_place e w := line [(op ++ " " ++ name e)%string; show in_place w;
  show false (after_finish slotted e w);
  match finish w with
  | Unobserved => "nothing" | Wake i => ("wake " ++ waker in_place i)%string
  | Owned => "own" | FinishedTwice => "never" end].

(** Registers `W2`. The end that the exchange finds is put back. *)
Definition register_line op (slotted in_place : bool) w :=
  let placed := match slotted, w with true, Pending => true | _, _ => false end in
  line [op; show in_place w;
    match register w with Restore e => name e | _ => waker placed 2 end;
    match register w with
    | Waits None => "pending" | Waits (Some i) => ("pending, drop " ++ waker in_place i)%string
    | Restore e => ("ready " ++ name e ++ ", drop W2")%string | PolledDetached => "never" end].

(** Looks first. An end is found without a registration, and so is the waker itself. *)
Definition poll_line op slotted in_place i w := match w with
  | Ended e => line [op; show in_place w; show in_place w; ("ready " ++ name e)%string]
  | Waker j => if Nat.eqb i j then line [op; show in_place w; show in_place w; "pending"]
    else register_line op slotted in_place w
  | _ => register_line op slotted in_place w end.

Definition detach_line op (slotted in_place : bool) w := line [op; show in_place w;
  match slotted, w with true, Ended e => name e | _, _ => "DETACHED" end;
  match detach w with
  | Left None => "nothing" | Left (Some i) => ("drop " ++ waker in_place i)%string
  | Last e => ("own " ++ name e)%string | DetachedTwice => "never" end].

Definition ended_line w := line ["ended"; show false w; show false w;
  match w with Ended e => name e | _ => "none" end].
Definition is_detached_line w := line ["is_detached"; show false w; show false w;
  match w with Detached => "yes" | _ => "no" end].

Definition ends := [Ended Done; Ended Abandoned].
Definition before_end := [Pending; Waker 1; Detached].
Definition of_waiter := [Pending; Waker 1] ++ ends.

Definition completion_lines := "# src/completion.rs" ::
  map (finish_line "finish" false false Done) before_end ++
  map (finish_line "finish" false false Abandoned) before_end ++
  map (register_line "register W2" false false) of_waiter ++
  map (poll_line "poll W1" false false 1) (Waker 1 :: ends) ++
  map (poll_line "poll W2" false false 2) of_waiter ++
  map (detach_line "detach" false false) of_waiter ++
  map ended_line (before_end ++ ends) ++
  map is_detached_line before_end ++
  flat_map (fun e => map (finish_line "slotted finish" true false e) before_end ++
    [finish_line "slotted finish" true true e (Waker 1)]) [Done; Abandoned] ++
  map (poll_line "slotted poll W2" true false 2) of_waiter ++
  [poll_line "slotted poll W2" true true 2 (Waker 1)] ++
  map (detach_line "slotted detach" true false) of_waiter ++
  [detach_line "slotted detach" true true (Waker 1)].

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
    (if (k =? 0)%N then decimal n else decimal k ++ "q" ++
      (if (n =? base)%N then "" else if (n <? base)%N then "-" ++ decimal (base - n)%N
       else "+" ++ decimal (n - base)%N))%string.

  Definition flag (set : bool) name := if set then name else "-".
  Definition state w := (flag (handle w) "H" ++ flag (cancelled w) "C" ++ flag (finished w) "F" ++
    flag (panicked w) "P" ++ " " ++ number (refs w) ++ " " ++ number (wakes w))%string.

  Definition next_name n := match n with
    | Nothing => "nothing" | Schedule => "schedule" | Orphan => "orphan" | Free => "free" end.
  Definition idle_name n := match n with
    | Leave => "leave" | Reschedule => "reschedule" | Cancel => "cancel" | OrphanLeft => "orphan" end.

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
  Definition lines op (may : word -> bool) (does : word -> word * string) :=
    map (fun w => line [op; state w; state (fst (does w)); snd (does w)]) (filter may words).
  Definition asks op may (does : word -> word * next) :=
    lines op may (fun w => (fst (does w), next_name (snd (does w)))).

  Definition always (w : word) := true.
  Definition has_waker w := negb (refs w =? 0).
  Definition runs w := negb (finished w) && negb (wakes w =? 0).

  Definition idle_lines consumed := lines ("idle " ++ number consumed)%string
    (fun w => runs w && (consumed <=? wakes w))
    (fun w => let done := idle quarter consumed w in (fst done, idle_name (snd done))).

  Definition state_lines := "# src/task/state.rs" ::
    map (fun h => line ["new"; ""; state (spawned h); "schedule"]) bools ++
    map (fun b => line ["revive"; ""; state (revive b); "schedule"]) bools ++
    lines "add_waker" always (fun w => (add_waker quarter w, "nothing")) ++
    asks "wake" always (wake quarter) ++
    asks "wake_by_value" has_waker wake_by_value ++
    asks "drop_waker" has_waker drop_waker ++
    asks "detach" handle detach ++ asks "cancel" handle cancel ++ asks "abort" always abort ++
    lines "set_panicked" (fun w => runs w && negb (panicked w))
      (fun w => (w <| panicked := true |>, "nothing")) ++
    asks "finish runner" runs (finish false) ++
    asks "finish handle" (fun w => runs w && handle w) (finish true) ++
    flat_map idle_lines [0; 1; 2; 2 * quarter - 1; 2 * quarter; 4 * quarter - 1].
End Lines.

(** The same text for the word of 64 bits and for that of 32. *)
Lemma both_sizes : state_lines (2 ^ 29) = state_lines (2 ^ 10).
Proof. vm_compute. reflexivity. Qed.

End State.

Eval vm_compute in Completion.completion_lines ++ State.state_lines (2 ^ 10)%N.
