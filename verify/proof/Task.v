(** The two words of a task (`src/task/state.rs`, and the join word as `Word.v` has it), for any
    number of wakers, wake-ups, runs and threads. As in `Word.v`, the first part is the table. *)

Require Import NArith Lia Bool Common.
Open Scope N_scope.

(** * The table *)

Record word := {
  handle : bool; cancelled : bool; finished : bool; panicked : bool; refs : N; wakes : N }.

Inductive next := Nothing | Schedule | Orphan | Free.
Inductive on_idle := Leave | Reschedule | Cancel | OrphanLeft.

Section Table.
  (** A quarter of the limit of wake-ups. *)
  Variable quarter : N.
  Definition limit := 4 * quarter.

  Definition spawned has_handle := {| handle := has_handle; cancelled := false;
    finished := false; panicked := false; refs := 0; wakes := 1 |}.

  Definition unreachable w := negb (handle w) && (refs w =? 0).

  (** For the party that has left, and was the last one. *)
  Definition left_alone w := if finished w then Free else if wakes w =? 0 then Orphan else Nothing.
  Definition waker_left w := if negb (handle w) && (refs w =? 1) then left_alone w else Nothing.
  Definition handle_left w := if refs w =? 0 then left_alone w else Nothing.
  Definition woken w := if wakes w =? 0 then Schedule else Nothing.

  Definition add_ref w := w <| refs := refs w + 1 |>.
  Definition add_wake w := w <| wakes := wakes w + 1 |>.
  Definition take_back w := if limit <=? wakes w then w <| wakes := wakes w - 1 |> else w.

  (** With the correction that follows where the counter is full. *)
  Definition add_waker w := if limit <=? wakes w then take_back (add_ref w) else add_ref w.
  Definition wake w :=
    (if limit <=? wakes w then take_back (add_wake w) else add_wake w, woken w).

  Definition wake_by_value w :=
    (add_wake w <| refs := refs w - 1 |>,
     match woken w with Schedule => Schedule | _ => waker_left w end).
  Definition drop_waker w := (w <| refs := refs w - 1 |>, waker_left w).
  Definition detach w := (w <| handle := false |>, handle_left w).

  Definition may_cancel w := negb (cancelled w) && negb (unreachable w && (wakes w =? 0)).
  Definition cancel w :=
    if may_cancel w then
      (add_wake w <| cancelled := true |> <| handle := false |>,
       match woken w with Schedule => Schedule | _ => handle_left w end)
    else detach w.
  Definition abort w :=
    if may_cancel w then (add_wake w <| cancelled := true |>, woken w) else (w, Nothing).

  Definition revive with_waker := {| handle := false; cancelled := true; finished := false;
    panicked := false; refs := if with_waker : bool then 1 else 0; wakes := 1 |}.

  (** The end of a pending run. *)
  Definition idle consumed w :=
    if consumed =? 0 then (w, if cancelled w then Cancel else Reschedule)
    else if 2 * quarter <=? consumed then (w <| wakes := wakes w - quarter |>, Reschedule)
    else (w <| wakes := wakes w - consumed |>,
      if cancelled w then Cancel
      else if negb (wakes w =? consumed) then Reschedule
      else if unreachable w then OrphanLeft else Leave).

  (** Whether the finisher, which has the handle or not, is the last party. *)
  Definition is_last (own : bool) w := eqb (handle w) own && (refs w =? 0).
  Definition finish_add (own : bool) w :=
    ((if own then w <| handle := false |> else w) <| finished := true |>,
     if is_last own w then Free else Nothing).
  Definition finish own w := if is_last own w then (w, Free) else finish_add own w.
End Table.

(** * Who holds the task *)

Inductive join_word := Open | Given_up | Completed.
Inductive holder := Held | Leaves (cancels : bool) | Away.
Definition held h := match h with Away => false | _ => true end.

Inductive runner :=
  | None_queued
  | Queued
  | Polls (seen : N) (wakes_itself has_handle : bool)  (** what it has seen when the run began *)
  | Revives                                (** the end of its run has found an orphan *)
  | Cancels                                (** and looks at the word again *)
  | Ends (has_handle panics : bool)        (** the join word comes next *)
  | Finishes.                              (** it is the finisher *)

Record task := {
  the_word : word;
  join : join_word;
  the_handle : holder;
  the_runner : runner;
  wakers : N;      (** at rest *)
  busy : N;        (** wakers that are about to take a wake-up back *)
  in_poll : N;     (** calls inside of the poll that are about to do so *)
  orphan : bool;   (** a thread that has left is about to revive it *)
  freed : bool;
  owed : bool      (** a wake-up has come that no run has seen *)
}.

Section System.
  Variable quarter : N.
  Variable ref_limit : N.
  Variable had_handle : bool.
  Notation limit := (limit quarter).
  Notation take_back := (take_back quarter).

  Definition start := {| the_word := spawned had_handle; join := Open;
    the_handle := if had_handle then Held else Away; the_runner := Queued;
    wakers := 0; busy := 0; in_poll := 0; orphan := false; freed := false; owed := true |}.

  (** What the word says is done. *)
  Definition follow (done : word * next) t :=
    match snd done with
    | Nothing => t
    | Schedule => t <| the_runner := Queued |>
    | Orphan => t <| orphan := true |>
    | Free => t <| freed := true |>
    end <| the_word := fst done |>.

  (** So many wake-ups, or so many that some were taken back. *)
  Definition at_least n t := n <= wakes (the_word t) \/ limit - 1 <= wakes (the_word t).
  Definition knows_handle h t :=
    (handle (the_word t) = true -> h = true) /\ (h = true -> had_handle = true).

  (** What a run may have seen of the word when it began: at least the wake-up that scheduled it. A
      value that is outdated may lack wake-ups and have a handle that has left. *)
  Definition may_see seen h t := 1 <= seen /\ at_least seen t /\ knows_handle h t.

  (** The future exists, which is what `Runnable::raw_abort` asks of its caller. *)
  Definition has_future t := freed t = false /\ match the_runner t with
    | None_queued => join t <> Completed /\ finished (the_word t) = false
    | Ends _ _ | Finishes => False
    | _ => True
    end.

  Definition makes_wakers t := 0 < wakers t \/ held (the_handle t) = true \/
    match the_runner t with Queued | Polls _ _ _ | Cancels | Ends _ _ => True | _ => False end.

  (** A full counter is corrected in a second step. *)
  Definition full t := limit <=? wakes (the_word t).
  Definition wakes_up t := follow (add_wake (the_word t), woken (the_word t)) t <| owed := true |>.
  Definition leaves_one t := t <| wakers := wakers t - 1 |>.
  Definition gets_busy t := t <| busy := busy t + 1 |>.

  (** A step of one party. Its label is what the word has said. Only [has_future] asks whether the
      task is freed. *)
  Inductive step (t : task) : next -> task -> Prop :=
  (** Wakers. *)
  | clones : makes_wakers t -> refs (the_word t) < ref_limit ->
      step t Nothing ((if full t then gets_busy t else t <| wakers := wakers t + 1 |>)
        <| the_word := add_ref (the_word t) |>)
  | wakes_by_ref : 0 < wakers t -> step t (woken (the_word t))
      (wakes_up (if full t then gets_busy (leaves_one t) else t))
  | wakes_in_poll seen w h : the_runner t = Polls seen w h -> step t (woken (the_word t))
      (wakes_up (if full t then t <| in_poll := in_poll t + 1 |> else t))
  | takes_back : 0 < busy t -> step t Nothing (t <| the_word := take_back (the_word t) |>
      <| wakers := wakers t + 1 |> <| busy := busy t - 1 |>)
  | takes_back_in_poll : 0 < in_poll t ->
      step t Nothing (t <| the_word := take_back (the_word t) |> <| in_poll := in_poll t - 1 |>)
  | wakes_by_value : 0 < wakers t -> step t (snd (wake_by_value (the_word t)))
      (follow (wake_by_value (the_word t)) (leaves_one t) <| owed := true |>)
  | drops : 0 < wakers t -> step t (snd (drop_waker (the_word t)))
      (follow (drop_waker (the_word t)) (leaves_one t))
  | aborts : 0 < wakers t \/ the_handle t = Held \/ has_future t ->
      step t (snd (abort (the_word t)))
        (follow (abort (the_word t)) t <| owed := owed t || may_cancel (the_word t) |>)
  | revives with_waker : orphan t = true ->
      step t Nothing (t <| the_word := revive with_waker |> <| the_runner := Queued |>
        <| orphan := false |> <| wakers := if with_waker : bool then 1 else 0 |> <| busy := 0 |>)
  (** The handle: it detaches on the join word, and then on the state word. *)
  | gives_up cancels : the_handle t = Held -> join t = Open ->
      step t Nothing (t <| join := Given_up |> <| the_handle := Leaves cancels |>)
  | handle_cancels : the_handle t = Leaves true ->
      step t (snd (cancel (the_word t))) (follow (cancel (the_word t)) (t <| the_handle := Away |>)
        <| owed := owed t || may_cancel (the_word t) |>)
  | handle_detaches : the_handle t = Leaves false ->
      step t (snd (detach (the_word t))) (follow (detach (the_word t)) (t <| the_handle := Away |>))
  | handle_looks : the_handle t = Held -> join t = Completed ->
      is_last true (the_word t) = true ->
      step t Free (t <| the_handle := Away |> <| freed := true |>)
  | handle_finishes : the_handle t = Held -> join t = Completed ->
      step t (snd (finish_add true (the_word t)))
        (follow (finish_add true (the_word t)) (t <| the_handle := Away |>))
  (** The runner. A runnable that is dropped cancels the task. *)
  (** What it has seen is not cancelled, so it lacks the wake-up that comes with a cancellation. *)
  | begins seen h : the_runner t = Queued -> may_see seen h t ->
      (cancelled (the_word t) = true -> at_least (seen + 1) t) ->
      step t Nothing (t <| the_runner := Polls seen false h |>
        <| owed := negb (seen =? wakes (the_word t)) |>)
  | begins_to_cancel seen h : the_runner t = Queued \/ the_runner t = Cancels -> may_see seen h t ->
      step t Nothing (t <| the_runner := Ends h false |>)
  | wakes_itself seen h : the_runner t = Polls seen false h ->
      step t Nothing (t <| the_runner := Polls seen true h |>)
  | is_ready seen w h : the_runner t = Polls seen w h -> in_poll t = 0 ->
      step t Nothing (t <| the_runner := Ends h false |>)
  | is_pending seen w h : the_runner t = Polls seen w h -> in_poll t = 0 ->
      step t Nothing
        (let done := idle quarter (seen - if w : bool then 1 else 0) (the_word t) in
         t <| the_word := fst done |> <| the_runner := match snd done with
           | Leave => None_queued | Reschedule => Queued
           | Cancel => Cancels | OrphanLeft => Revives end |>)
  (** The relaxed look for a cancellation may miss one. *)
  | misses_cancel h : the_runner t = Polls 1 true h -> in_poll t = 0 ->
      step t Nothing (t <| the_runner := Queued |>)
  | runner_revives : the_runner t = Revives ->
      step t Nothing (t <| the_word := revive false |> <| the_runner := Cancels |>)
  | panics h : the_runner t = Ends h false ->
      step t Nothing
        (t <| the_word := the_word t <| panicked := true |> |> <| the_runner := Ends h true |>)
  | hands_over p : the_runner t = Ends true p -> join t = Open ->
      step t Nothing (t <| join := Completed |> <| the_runner := None_queued |>)
  | finds_given_up p : the_runner t = Ends true p -> join t = Given_up ->
      step t Nothing (t <| the_runner := Finishes |>)
  | finds_no_handle p : the_runner t = Ends false p ->
      step t Nothing (t <| the_runner := Finishes |>)
  | runner_looks : the_runner t = Finishes -> is_last false (the_word t) = true ->
      step t Free (t <| the_runner := None_queued |> <| freed := true |>)
  | runner_finishes : the_runner t = Finishes ->
      step t (snd (finish_add false (the_word t)))
        (follow (finish_add false (the_word t)) (t <| the_runner := None_queued |>)).
End System.
