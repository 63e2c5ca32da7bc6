"""Takes the snapshots that everybody outside the run reads."""

from __future__ import annotations

from pilothouse_agent.kernel.parts import AgentConfig
from pilothouse_agent.kernel.queues import MessageQueues
from pilothouse_agent.kernel.state import AgentStateSnapshot, State
from pilothouse_agent.kernel.transcript import Transcript

__all__ = ["take_snapshot"]


def take_snapshot(
    state: State, config: AgentConfig, queues: MessageQueues, transcript: Transcript
) -> AgentStateSnapshot:
    queued, specs = queues.update(), config.specs()
    return AgentStateSnapshot(
        phase=state.phase,
        run_id=state.run_id,
        messages=tuple(transcript.messages),
        system_prompt=config.system(specs),
        model=config.model,
        thinking=config.thinking,
        tools=tuple(spec.name for spec in specs),
        steering_mode=queues.modes["steering"],
        follow_up_mode=queues.modes["followUp"],
        steering=queued.steering,
        follow_up=queued.follow_up,
        is_streaming=state.streaming is not None,
        streaming_message=state.streaming_message,
        pending_tool_calls=tuple(state.pending_tool_calls),
        pending_writes=state.pending_writes,
        error_message=state.error_message,
        turn=state.turn,
        context_tokens=transcript.tokens,
    )
