(** The word of `src/completion.rs`, for any number of polls and wakers.

    The first part is the table of that file as functions, from the word to the next word and to
    what is left to do. The second part runs two sides on them, one instruction a step. *)

Require Import List Arith Common.
Import ListNotations.

(** * The table *)

Inductive ending := Done | Abandoned.

(** A waker is known by its number. *)
Inductive word := Pending | Waker (i : nat) | Ended (e : ending) | Detached.

(** What the completer's exchange leaves to do. *)
Inductive completed := Unobserved | Wake (i : nat) | Owned | FinishedTwice.

Definition finish e w := (Ended e,
  match w with
  | Pending => Unobserved
  | Waker i => Wake i
  | Detached => Owned
  | Ended _ => FinishedTwice
  end).

(** What an exchange of the waiter leaves to do. *)
Inductive exchanged := Drop (old : option nat) | Restore (e : ending) | DetachedBefore.

(** A registration puts in a waker, and the waiter's last exchange [Detached]. *)
Definition exchange (new w : word) := (new,
  match w with
  | Pending => Drop None
  | Waker old => Drop (Some old)
  | Ended e => Restore e
  | Detached => DetachedBefore
  end).

(** * The two sides *)

Inductive completer :=
  | Works
  | Looked (copy : option nat)         (** at a waker, of which it has a copy if that is in place *)
  | Finished                           (** and touches only what the exchange has returned *)
  | Owns (e : ending) (taken : bool).  (** the memory; whether the result is out of it *)

Inductive waiter :=
  | Rests (r : option nat)               (** between polls, with this waker registered *)
  | Registers (r : option nat) (i : nat) (** has seen no end, and cloned [i] *)
  | Restores (e : ending) (i : nat)      (** its exchange has found the end, and put in [i] *)
  | Drops (old i : nat)                  (** has replaced [old] by [i] *)
  | DropsOwn (i : nat) (e : ending)      (** has restored the end, which has overwritten [i] *)
  | Leaves (r copy : option nat)         (** looked, as [Looked] *)
  | RestoresLast (e : ending)            (** its last exchange has found the end *)
  | Ready (e : ending) (taken : bool)    (** the memory is the waiter's *)
  | Gone.

Inductive result := Empty | Here | Moved.

Record state := {
  the_word : word;
  the_completer : completer;
  the_waiter : waiter;
  the_result : result;
  alive : bool;          (** the memory of the word, the slot and the result *)
  placed : option nat;   (** the waker in the slot *)
  made : nat;            (** wakers are numbered from 0 *)
  to_wake : list nat;    (** in the completer's hands *)
  to_drop : list nat;    (** in the hands of a waiter that has left *)
  woken : list nat;
  dropped : list nat;
  past : list nat        (** all wakers that were in the word, for looks that are outdated *)
}.

(** What a step does to what the sides share. [Take] moves the result out or drops it. *)
Inductive label := Touch | Take | Free | Private.

Section System.
  (** Whether the word has a slot (`src/completion/slotted.rs`). *)
  Variable slotted : bool.

  Definition start : state := {|
    the_word := Pending; the_completer := Works; the_waiter := Rests None; the_result := Empty;
    alive := true; placed := None; made := 0; to_wake := []; to_drop := [];
    woken := []; dropped := []; past := [] |}.

  Definition cloned s := s <| made := S (made s) |>.
  Definition drops i s := s <| dropped := i :: dropped s |>.

  (** The completer's exchange. *)
  Definition finishes e s := let (next, todo) := finish e (the_word s) in
    match todo with
    | Unobserved | FinishedTwice => s <| the_completer := Finished |>
    | Wake i => s <| the_completer := Finished |> <| to_wake := i :: to_wake s |>
    | Owned => s <| the_completer := Owns e false |>
    end <| the_word := next |>.

  (** The exchange of a registration of [i]. *)
  Definition registers i s := let (next, todo) := exchange (Waker i) (the_word s) in
    match todo with
    | Drop None => s <| the_waiter := Rests (Some i) |>
    | Drop (Some old) => s <| the_waiter := Drops old i |>
    | Restore e => s <| the_waiter := Restores e i |>
    | DetachedBefore => s
    end <| the_word := next |> <| past := i :: past s |>.

  (** The waiter's last exchange. *)
  Definition detaches s := let (next, todo) := exchange Detached (the_word s) in
    match todo with
    | Drop None | DetachedBefore => s <| the_waiter := Gone |>
    | Drop (Some old) => s <| the_waiter := Gone |> <| to_drop := old :: to_drop s |>
    | Restore e => s <| the_waiter := if slotted then RestoresLast e else Ready e false |>
    end <| the_word := next |>.

  Definition copy_of i s :=
    match placed s with Some p => if p =? i then Some i else None | None => None end.

  (** The result is written before `Done`, and only then. *)
  Definition may_finish e s := the_result s = match e with Done => Here | Abandoned => Empty end.

  (** A side does what its program says, whatever the other one does: no step asks whether the
      memory is alive or the result is there. A look that is not the latest value finds less, so
      each look may also miss an end. *)
  Inductive step (s : state) : label -> state -> Prop :=
  (** The completer. *)
  | completer_glances : the_completer s = Works -> step s Touch s
  | completer_writes : the_completer s = Works -> the_result s = Empty ->
      step s Touch (s <| the_result := Here |>)
  | plain_finish e : slotted = false -> the_completer s = Works -> may_finish e s ->
      step s Touch (finishes e s)
  | exchange_from_pending e : slotted = true -> the_completer s = Works -> may_finish e s ->
      the_word s = Pending -> step s Touch (finishes e s)
  | look_finds_detached e : slotted = true -> the_completer s = Works -> may_finish e s ->
      the_word s = Detached -> step s Touch (s <| the_completer := Owns e false |>)
  | look_finds_waker i : slotted = true -> the_completer s = Works -> In i (past s) ->
      step s Touch (s <| the_completer := Looked (copy_of i s) |>)
  | slotted_finish copy e : the_completer s = Looked copy -> may_finish e s ->
      step s Touch (finishes e s)
  | completer_wakes before i after : to_wake s = before ++ i :: after ->
      step s Private (s <| to_wake := before ++ after |> <| woken := i :: woken s |>)
  | completer_takes : the_completer s = Owns Done false ->
      step s Take (s <| the_completer := Owns Done true |> <| the_result := Moved |>)
  | completer_frees e taken : the_completer s = Owns e taken -> e = Abandoned \/ taken = true ->
      step s Free (s <| the_completer := Finished |> <| alive := false |>)
  (** The waiter. *)
  | waiter_glances : the_waiter s <> Gone -> step s Touch s
  | poll_finds_end r e : the_waiter s = Rests r -> the_word s = Ended e ->
      step s Touch (s <| the_waiter := Ready e false |>)
  | poll_finds_its_waker i : the_waiter s = Rests (Some i) -> step s Touch s
  | poll_clones r : the_waiter s = Rests r ->
      step s Touch (cloned s <| the_waiter := Registers r (made s) |>)
  | poll_places : slotted = true -> the_waiter s = Rests None ->
      step s Touch (cloned s <| the_waiter := Registers None (made s) |>
        <| placed := Some (made s) |>)
  | poll_exchanges r i : the_waiter s = Registers r i -> step s Touch (registers i s)
  | poll_restores e i : the_waiter s = Restores e i ->
      step s Touch (s <| the_word := Ended e |> <| the_waiter := DropsOwn i e |>)
  (** Which reads the slot, if the waker is in place. *)
  | poll_drops old i : the_waiter s = Drops old i ->
      step s Touch (drops old s <| the_waiter := Rests (Some i) |>)
  | poll_drops_own i e : the_waiter s = DropsOwn i e ->
      step s Touch (drops i s <| the_waiter := Ready e false |>)
  | plain_detach r : slotted = false -> the_waiter s = Rests r -> step s Touch (detaches s)
  | slotted_look r : slotted = true -> the_waiter s = Rests r ->
      step s Touch (s <| the_waiter :=
        Leaves r match r with Some i => copy_of i s | None => None end |>)
  | slotted_detach r copy : the_waiter s = Leaves r copy -> step s Touch (detaches s)
  | detach_restores e : the_waiter s = RestoresLast e ->
      step s Touch (s <| the_word := Ended e |> <| the_waiter := Ready e false |>)
  | waiter_drops before i after : to_drop s = before ++ i :: after ->
      step s Private (drops i s <| to_drop := before ++ after |>)
  | waiter_takes : the_waiter s = Ready Done false ->
      step s Take (s <| the_waiter := Ready Done true |> <| the_result := Moved |>)
  (** `raw_take`: the channel is from then on as if nothing had been sent. *)
  | waiter_takes_and_stays : the_waiter s = Ready Done false ->
      step s Take (s <| the_word := Ended Abandoned |>
        <| the_waiter := Ready Abandoned false |> <| the_result := Moved |>)
  | waiter_frees e taken : the_waiter s = Ready e taken -> e = Abandoned \/ taken = true ->
      step s Free (s <| the_waiter := Gone |> <| alive := false |>).
End System.
