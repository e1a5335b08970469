"""Contacts and phone: who people are, and text messages to them."""

from dataclasses import asdict

from contextrender.world.registry import Json, ToolError, tool
from contextrender.world.state import Contact, State, Text


@tool(
    "contacts",
    args={
        "query": "Part of a name, an e-mail address or the notes; empty for any.",
        "relationship": "Exact relationship, such as roommate, friend, coworker, family, landlord; empty for any.",
        "limit": "At most this many contacts.",
    },
    returns={"total": "How many contacts match.", "contacts": "The complete cards of the matching contacts."},
)
def search_contacts(state: State, query: str = "", relationship: str = "", limit: int = 10) -> Json:
    """Searches the user's address book by free text and by relationship; returns complete contact cards."""
    wanted = query.lower()
    found = [
        contact
        for contact in state.contacts
        if relationship in ("", contact.relationship)
        and wanted in f"{contact.name} {contact.email} {contact.notes}".lower()
    ]
    return {"total": len(found), "contacts": [card(contact) for contact in found[: max(limit, 0)]]}


@tool(
    "contacts",
    args={"contact_id": "Id of the contact."},
    returns={"contact": "The complete card."},
    errors=("unknown_id",),
)
def show_contact(state: State, contact_id: str) -> Json:
    """Shows one contact card of the user's address book by its id."""
    for contact in state.contacts:
        if contact.contact_id == contact_id:
            return {"contact": card(contact)}
    raise ToolError("unknown_id", f"no contact has the id {contact_id!r}")


def card(contact: Contact) -> Json:
    """A contact as tools show it."""
    picture = f"https://contacts.example/pictures/{contact.contact_id}"
    return {
        **asdict(contact),
        "labels": [contact.relationship, "synced"],
        "favorite": contact.relationship == "roommate",
        "postal": {"city": "Harborview", "state": "Oregon", "postal_code": "97210", "country": "United States"},
        "preferences": {"channel": "text", "language": "English", "quiet_hours": "22:00 to 07:30", "reminders": True},
        "privacy": {"shares_location": False, "shares_birthday": True, "shared_with_groups": [contact.relationship]},
        "pictures": {"small": f"{picture}/64.png", "large": f"{picture}/512.png", "updated_at": "2025-10-04T08:12:00"},
        "sync": {"source": "phone book", "format": "vCard 4.0", "conflicts": 0, "synced_at": "2026-03-14T06:00:00"},
    }


@tool(
    "phone",
    args={"phone": "Phone number with country code, exactly as on the contact card.", "text": "The message."},
    returns={"text_id": "Id of the message.", "status": "sent"},
    errors=("unknown_account",),
)
def send_text(state: State, phone: str, text: str) -> Json:
    """Sends a text message from the user's phone to the number of one of the user's contacts."""
    if not any(contact.phone == phone for contact in state.contacts):
        raise ToolError("unknown_account", f"the number {phone!r} belongs to no contact")
    if not text.strip():
        raise ToolError("malformed_argument", "the text is empty")
    sent = Text(state.new_id("text"), state.tick(), phone, text)
    state.texts.append(sent)
    return {"message": "Text message sent.", "text_id": sent.text_id, "status": "sent", "sent_at": sent.at}


@tool("phone", returns={"texts": "All messages sent by the user, oldest first."})
def list_texts(state: State) -> Json:
    """Lists the text messages that the user has sent from this phone, oldest first."""
    return {"total": len(state.texts), "texts": [asdict(text) for text in state.texts]}
