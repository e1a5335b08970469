"""The user's calendar."""

from dataclasses import asdict
from datetime import datetime

from contextrender.world.registry import Json, ToolError, tool
from contextrender.world.state import Event, State


@tool(
    "calendar",
    args={"start": "First day, YYYY-MM-DD.", "end": "Last day, YYYY-MM-DD, included."},
    returns={"events": "The events that begin in this time, earliest first, complete with attendees and notes."},
)
def list_events(state: State, start: str, end: str) -> Json:
    """Lists the events of the user's calendar that begin between two days, both included, earliest first."""
    for day in (start, end):
        _moment(day)
    found = sorted((event for event in state.events if start <= event.start[:10] <= end), key=lambda event: event.start)
    return {"start": start, "end": end, "total": len(found), "events": [_shown(event) for event in found]}


@tool(
    "calendar",
    args={
        "title": "Title of the event.",
        "start": "Start, YYYY-MM-DDTHH:MM:SS.",
        "end": "End, YYYY-MM-DDTHH:MM:SS, after the start.",
        "attendees": "E-mail addresses of the people invited.",
        "location": "Where it takes place.",
        "notes": "Free text shown to the attendees.",
    },
    returns={"event_id": "Id of the event made.", "invitations_sent": "How many attendees were invited."},
)
def create_event(
    state: State, title: str, start: str, end: str, attendees: list[str], location: str = "", notes: str = ""
) -> Json:
    """Makes an event in the user's calendar and invites the attendees by e-mail."""
    if _moment(start) >= _moment(end):
        raise ToolError("malformed_argument", "the end must be after the start")
    for address in attendees:
        if address.count("@") != 1:
            raise ToolError("malformed_argument", f"{address!r} is not an e-mail address")
    state.tick()
    event = Event(state.new_id("event"), title, start, end, location, list(attendees), notes)
    state.events.append(event)
    return {"message": "Event created.", "event_id": event.event_id, "invitations_sent": len(attendees)}


@tool("calendar", args={"event_id": "Id of the event."}, returns={"message": "What was done."}, errors=("unknown_id",))
def delete_event(state: State, event_id: str) -> Json:
    """Deletes an event from the user's calendar and tells its attendees that it is cancelled."""
    for event in state.events:
        if event.event_id == event_id:
            state.events.remove(event)
            state.tick()
            return {"message": "Event deleted.", "event_id": event_id, "cancellations_sent": len(event.attendees)}
    raise ToolError("unknown_id", f"no event has the id {event_id!r}")


def _shown(event: Event) -> Json:
    return {**asdict(event), "status": "confirmed", "visibility": "private", "reminders_minutes": [30, 1440]}


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ToolError("malformed_argument", f"{text!r} is not a date or time") from error
